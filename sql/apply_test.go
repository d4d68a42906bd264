package sql_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pglab/sql"
)

// catalog is everything that the files define, as text.
const catalog = `
	SELECT concat_ws(' ', 'relation', c.oid::regclass, c.relkind, c.relowner::regrole, c.relacl, obj_description(c.oid, 'pg_class'), CASE c.relkind WHEN 'v' THEN pg_get_viewdef(c.oid) END) FROM pg_class c WHERE c.relnamespace IN ('lab'::regnamespace, 'lab_private'::regnamespace)
	UNION ALL SELECT concat_ws(' ', 'column', a.attrelid::regclass, a.attnum, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attcollation, col_description(a.attrelid, a.attnum)) FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relnamespace IN ('lab'::regnamespace, 'lab_private'::regnamespace) AND a.attnum > 0
	UNION ALL SELECT concat_ws(' ', 'constraint', k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid)) FROM pg_constraint k WHERE k.connamespace IN ('lab'::regnamespace, 'lab_private'::regnamespace)
	UNION ALL SELECT concat_ws(' ', 'trigger', t.tgname, pg_get_triggerdef(t.oid)) FROM pg_trigger t
	UNION ALL SELECT concat_ws(' ', 'function', p.proowner::regrole, p.proacl, pg_get_functiondef(p.oid)) FROM pg_proc p WHERE p.pronamespace = 'lab_private'::regnamespace
	UNION ALL SELECT concat_ws(' ', 'schema', n.nspname, n.nspowner::regrole, n.nspacl, obj_description(n.oid, 'pg_namespace')) FROM pg_namespace n WHERE n.nspname LIKE 'lab%'
	UNION ALL SELECT concat_ws(' ', 'role', r.rolname, r.rolcanlogin, r.rolsuper, r.rolcreaterole) FROM pg_roles r WHERE r.rolname LIKE 'lab_%'
	UNION ALL SELECT concat_ws(' ', 'member', m.roleid::regrole, m.member::regrole, m.admin_option) FROM pg_auth_members m WHERE m.roleid::regrole::text LIKE 'lab_%'
	UNION ALL SELECT concat_ws(' ', 'setting', s.setconfig) FROM pg_db_role_setting s JOIN pg_database d ON d.oid = s.setdatabase WHERE d.datname = 'lab'
	UNION ALL SELECT concat_ws(' ', 'file', f.name) FROM lab_private.schema_files f
	UNION ALL SELECT concat_ws(' ', 'lab', l.id) FROM lab_private.lab l
	UNION ALL SELECT concat_ws(' ', 'lane', l) FROM lab.lanes l
	ORDER BY 1`

func TestTheSchemaIsAppliedTwiceWithoutAChange(t *testing.T) {
	for _, major := range append([]int{14}, engineMajors...) {
		t.Run(fmt.Sprint(major), func(t *testing.T) {
			r := emptyRoom(t, major)
			apply(t, r.owner)
			first := column[string](t, r.owner, catalog)
			exec(t, r.owner, "BEGIN")
			for _, file := range sql.Files() {
				if file.Kind == sql.Repeatable {
					if err := applyFile(t.Context(), r.owner, file); err != nil {
						t.Fatal(err)
					}
				}
			}
			exec(t, r.owner, "COMMIT")
			if diff := cmp.Diff(first, column[string](t, r.owner, catalog)); diff != "" {
				t.Errorf("applying repeatable files once more changed the schema: %s", diff)
			}
		})
	}
}

// Each repeatable file may be the only one that has changed.
func TestEachRepeatableFileStandsAlone(t *testing.T) {
	r := newRoom(t, 15)
	first := column[string](t, r.owner, catalog)
	for _, file := range sql.Files() {
		if file.Kind == sql.Migration {
			continue
		}
		exec(t, r.owner, "BEGIN")
		if err := applyFile(t.Context(), r.owner, file); err != nil {
			t.Error(err)
		}
		exec(t, r.owner, "COMMIT")
		if diff := cmp.Diff(first, column[string](t, r.owner, catalog)); diff != "" {
			t.Errorf("%s alone changed the schema: %s", file.Name, diff)
		}
	}
}

// What postgres_fdw can import, and what keeps order and defaults the same on
// both sides of it.
func TestForeignTablesCanCarryTheSchema(t *testing.T) {
	r := newRoom(t, 15)
	for what, query := range map[string]string{
		"type that is not built in": `SELECT a.attrelid::regclass || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type y ON y.oid = a.atttypid
			WHERE c.relnamespace = 'lab'::regnamespace AND c.relkind IN ('r', 'v') AND a.attnum > 0 AND (y.typnamespace <> 'pg_catalog'::regnamespace OR y.typtype <> 'b')`,
		"default, identity or generated column": `SELECT a.attrelid::regclass || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
			WHERE c.relnamespace = 'lab'::regnamespace AND a.attnum > 0 AND (a.atthasdef OR a.attidentity <> '' OR a.attgenerated <> '')`,
		"key that is not in collation C": `SELECT a.attrelid::regclass || '.' || a.attname FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
			WHERE c.relnamespace = 'lab'::regnamespace AND c.relkind IN ('r', 'v') AND a.attname IN ('run', 'cluster', 'lane', 'name', 'role', 'object') AND a.attcollation <> '"C"'::regcollation`,
		"foreign key": `SELECT k.conname::text FROM pg_constraint k WHERE k.contype = 'f' AND k.connamespace IN ('lab'::regnamespace, 'lab_private'::regnamespace)`,
		"security definer function without a search_path": `SELECT p.oid::regprocedure::text FROM pg_proc p
			WHERE p.pronamespace = 'lab_private'::regnamespace AND p.prosecdef AND coalesce(p.proconfig::text, '') NOT LIKE '%search_path=pg_catalog, pg_temp%'`,
		"function that everybody may execute": `SELECT p.oid::regprocedure::text FROM pg_proc p
			WHERE p.pronamespace = 'lab_private'::regnamespace AND has_function_privilege('public', p.oid, 'EXECUTE')`,
		"table that is not the owner's": `SELECT c.oid::regclass::text FROM pg_class c
			WHERE c.relnamespace IN ('lab'::regnamespace, 'lab_private'::regnamespace) AND c.relowner <> 'lab_owner'::regrole`,
	} {
		if found := column[string](t, r.owner, query); len(found) > 0 {
			t.Errorf("%s: %v", what, found)
		}
	}
}
