package sql_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestClustersAreFilledIn(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		admin := v.as(t, "admin")
		exec(t, admin, "INSERT INTO lab.clusters (name) VALUES ('plain')")
		exec(t, admin, `INSERT INTO lab.clusters (name, runtime, version, cpu, memory, parameters, initdb) VALUES
			('k', 'k3s', '17.10', '500m', '512MB', '{"work_mem": "8MB", "max_connections": 50, "fsync": false}', '{"data_checksums": false, "wal_segment_size": 64}'),
			('m', 'metal', '', '', '', NULL, NULL)`)
		got := column[string](t, admin, `SELECT concat_ws(' | ', name, runtime, version, cpu, memory, parameters, initdb, state, message,
			CASE WHEN uid IS NULL THEN 'no uid' END, CASE WHEN created_at IS NULL THEN 'no created_at' END, CASE WHEN state_since IS NULL THEN 'no state_since' END) FROM lab.clusters ORDER BY name`)
		want := []string{
			`k | kubernetes | 17.10 | 500m | 512MB | {"fsync": "false", "work_mem": "8MB", "max_connections": "50"} | {"data_checksums": "off", "wal_segment_size": "64"} | pending`,
			`m | systemd | {} | {} | pending`,
			`plain | process | {} | {} | pending`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestBadClustersAreRefusedInWords(t *testing.T) {
	tests := map[string]struct {
		columns string
		values  string
		want    refusal
	}{
		"no name":               {"version", `'16'`, refusal{"23502", "name is missing", "pg17"}},
		"upper case":            {"name", `'Pg16'`, refusal{"42602", `name "Pg16" is not a valid`, "lower-case"}},
		"leading digit":         {"name", `'16pg'`, refusal{"42602", `"16pg"`, "begin with a letter"}},
		"trailing hyphen":       {"name", `'pg-'`, refusal{"42602", `"pg-"`, "letter or digit"}},
		"dot":                   {"name", `'a.b'`, refusal{"42602", `"a.b"`, "lower-case"}},
		"empty":                 {"name", `''`, refusal{"42602", `""`, "lower-case"}},
		"41 characters":         {"name", `repeat('a', 41)`, refusal{"42602", "aaa", "40 characters"}},
		"quotes and shell":      {"name", `$x$a'; $(reboot) "$x$`, refusal{"42602", "$(reboot)", "lower-case"}},
		"newline":               {"name", `E'a\nb'`, refusal{"42602", "a\nb", "lower-case"}},
		"control room":          {"name", `'lab'`, refusal{"42939", `"lab" is reserved`, "another name"}},
		"system database":       {"name", `'template1'`, refusal{"42939", `"template1" is reserved`, "another name"}},
		"benchmark's role":      {"name", `'bench'`, refusal{"42939", `"bench" is reserved`, "another name"}},
		"runtime":               {"name, runtime", `'a', 'vmware'`, refusal{"22023", `runtime "vmware" is not known`, "process, systemd, docker, kubernetes"}},
		"version of one word":   {"name, version", `'a', 'newest'`, refusal{"22023", `version "newest"`, "'17.10'"}},
		"version of three":      {"name, version", `'a', '16.1.2'`, refusal{"22023", `version "16.1.2"`, "'17'"}},
		"image with blank":      {"name, image", `'a', 'postgres 17'`, refusal{"22023", `image "postgres 17"`, "docker pull"}},
		"image like a flag":     {"name, image", `'a', '--privileged'`, refusal{"22023", `image "--privileged"`, "docker pull"}},
		"relative bindir":       {"name, bindir", `'a', 'usr/bin'`, refusal{"22023", `bindir "usr/bin"`, "without '..'"}},
		"bindir upwards":        {"name, bindir", `'a', '/opt/../etc'`, refusal{"22023", `bindir "/opt/../etc"`, "without '..'"}},
		"bindir of two lines":   {"name, bindir", `'a', E'/opt\n/bin'`, refusal{"22023", "bindir", "without '..'"}},
		"cpu":                   {"name, cpu", `'a', '2 cores'`, refusal{"22023", `cpu "2 cores" is not a number of CPUs`, "'500m'"}},
		"cpu of nothing":        {"name, cpu", `'a', '0'`, refusal{"22023", `cpu "0" is outside`, "no limit"}},
		"memory":                {"name, memory", `'a', '512 MiB'`, refusal{"22023", `memory "512 MiB" is not a size`, "'512Mi'"}},
		"memory in thousandths": {"name, memory", `'a', '500m'`, refusal{"22023", `memory "500m" is not a size`, "'512Mi'"}},
		"storage":               {"name, storage", `'a', '12'`, refusal{"22023", `storage "12" is less than 1 MiB`, "'2Gi'"}},
		"cpuset":                {"name, cpuset", `'a', '0,1-'`, refusal{"22023", `cpuset "0,1-"`, "'0-3'"}},
		"cpuset backwards":      {"name, cpuset", `'a', '0,3-1'`, refusal{"22023", `cpuset "0,3-1"`, "'0-3'"}},
		"parameters of array":   {"name, parameters", `'a', '[1]'`, refusal{"22023", "parameters must be a json object, not array", "shared_buffers"}},
		"nested parameters":     {"name, parameters", `'a', '{"a": {"b": 1}}'`, refusal{"22023", `the value of "a" is an object`, "a string"}},
		"null parameter":        {"name, parameters", `'a', '{"work_mem": null}'`, refusal{"22023", `the value of "work_mem" is null`, "a string"}},
		"parameter of 2 lines":  {"name, parameters", `'a', '{"a": "b\nport = 1"}'`, refusal{"22023", "more than one line", "one line"}},
		"no parameter name":     {"name, parameters", `'a', '{"work mem": "1"}'`, refusal{"22023", `"work mem" is not the name`, "pg_settings"}},
		"reserved parameter":    {"name, parameters", `'a', '{"port": 1}'`, refusal{"22023", `"port" is set by the lab`, "Leave it out"}},
		"reserved command":      {"name, parameters", `'a', '{"Archive_Command": "x"}'`, refusal{"22023", `"Archive_Command" is set by the lab`, "Leave it out"}},
		"reserved file":         {"name, parameters", `'a', '{"ssl_key_file": "x"}'`, refusal{"22023", `"ssl_key_file" is set by the lab`, "Leave it out"}},
		"reserved directive":    {"name, parameters", `'a', '{"include": "x"}'`, refusal{"22023", `"include" is set by the lab`, "Leave it out"}},
		"unknown initdb choice": {"name, initdb", `'a', '{"auth": "trust"}'`, refusal{"22023", `"auth" is not known`, "data_checksums"}},
		"bad initdb choice":     {"name, initdb", `'a', '{"wal_segment_size": 17}'`, refusal{"22023", `wal_segment_size cannot be "17"`, "power of two"}},
		"locale with a path":    {"name, initdb", `'a', '{"locale": "../../etc"}'`, refusal{"22023", "locale cannot be", "locale_provider"}},
		"uid of one's own":      {"name, uid", `'a', '00000000-0000-0000-0000-000000000000'`, refusal{"42501", "status columns", "Leave out uid"}},
		"ready by itself":       {"name, state", `'a', 'ready'`, refusal{"42501", "status columns", "state"}},
	}
	eachDoor(t, func(t *testing.T, v *visit) {
		admin := v.as(t, "admin")
		for name, test := range tests {
			t.Run(name, func(t *testing.T) {
				refused(t, admin, test.want, "INSERT INTO lab.clusters ("+test.columns+") VALUES ("+test.values+")")
			})
		}
		if n := one[int](t, v.owner, "SELECT count(*) FROM lab.clusters"); n != 0 {
			t.Errorf("%d rows were left behind", n)
		}
	})
}

func TestAClusterIsNotChanged(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		admin := v.as(t, "admin")
		exec(t, admin, "INSERT INTO lab.clusters (name, cpu) VALUES ('pg16', '2')")
		unchangeable := refusal{"55006", `cluster "pg16" cannot be changed`, "insert it anew"}
		refused(t, admin, unchangeable, "UPDATE lab.clusters SET cpu = '4' WHERE name = 'pg16'")
		refused(t, admin, unchangeable, "UPDATE lab.clusters SET name = 'pg17' WHERE created_at < now()")
		refused(t, admin, refusal{"42501", "status columns", "'pending'"}, "UPDATE lab.clusters SET state = 'ready' WHERE name = 'pg16'")
		refused(t, admin, refusal{"42501", "status columns", "'pending'"}, "UPDATE lab.clusters SET message = 'fine' WHERE name = 'pg16'")
		exec(t, admin, "UPDATE lab.clusters SET cpu = '2' WHERE name = 'pg16'")
	})
}

func TestAFailedClusterIsTriedAgain(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		admin := v.as(t, "admin")
		v.ready(t, "pg16")
		refused(t, admin, refusal{"55006", `cluster "pg16" is ready`, "Only a failed cluster"}, "UPDATE lab.clusters SET state = 'pending' WHERE name = 'pg16'")
		exec(t, v.owner, "UPDATE lab.clusters SET state = 'failed', message = 'no space left' WHERE name = 'pg16'")
		exec(t, admin, "UPDATE lab.clusters SET state = 'pending' WHERE name = 'pg16'")
		if got := one[string](t, admin, "SELECT state || coalesce(message, '') FROM lab.clusters"); got != "pending" {
			t.Errorf("state and message = %q, want pending and none", got)
		}
	})
}

func TestADeletedClusterLeavesARemoval(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		admin := v.as(t, "admin")
		v.ready(t, "pg16")
		uid := one[string](t, v.owner, "SELECT uid::text FROM lab.clusters")
		exec(t, admin, "INSERT INTO lab.runs (run, cluster) VALUES ('under-way', 'pg16'), ('waiting', 'pg16')")
		exec(t, admin, "INSERT INTO lab.launches DEFAULT VALUES")

		exec(t, admin, "BEGIN")
		exec(t, admin, "DELETE FROM lab.clusters WHERE name = 'pg16'")
		exec(t, admin, "INSERT INTO lab.clusters (name) VALUES ('pg16')")
		exec(t, admin, "COMMIT")

		if got := one[string](t, admin, "SELECT kind || ' ' || name FROM lab.removals"); got != "cluster pg16" {
			t.Errorf("lab.removals has %q", got)
		}
		if got := one[string](t, v.owner, "SELECT uid FROM lab_private.tombstones"); got != uid {
			t.Errorf("the tombstone has uid %s, want %s", got, uid)
		}
		if got := one[string](t, admin, "SELECT message FROM lab.clusters"); got != "waiting for the previous pg16 to be removed" {
			t.Errorf("message of the new row = %q", got)
		}
		if got := one[string](t, admin, "SELECT uid::text FROM lab.clusters"); got == uid {
			t.Error("the new row has the uid of the old one")
		}
		got := column[string](t, admin, "SELECT concat_ws(': ', run, state, message) FROM lab.runs ORDER BY run")
		want := []string{`under-way: canceled: cluster "pg16" was deleted`, "waiting: queued"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

func TestOnlyAdminsMakeClusters(t *testing.T) {
	eachDoor(t, func(t *testing.T, v *visit) {
		for _, kind := range []string{"viewer", "operator"} {
			refused(t, v.as(t, kind), refusal{code: "42501", message: "permission denied"}, "INSERT INTO lab.clusters (name) VALUES ('pg16')")
			refused(t, v.as(t, kind), refusal{code: "42501", message: "permission denied"}, "DELETE FROM lab.clusters")
		}
	})
}
