package proxy

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGreetingIsTheServersOwn(t *testing.T) {
	g := startGateway(t, nil)
	greeting := func(address string) (all []message) {
		b := bareTo(t, address)
		b.startup(196608, "user|ann|database|lab|application_name|greeting|client_encoding|LATIN1|TimeZone|Asia/Tokyo|")
		all = b.logIn(password)
		b.say('Q', "SET TimeZone = 'UTC'; SET application_name = 'changed'\x00")
		return slices.DeleteFunc(append(all, b.until('Z')...), func(m message) bool { return m.kind == 'K' })
	}
	if diff := cmp.Diff(greeting(engineAddress()), greeting(g.address()), cmp.AllowUnexported(message{})); diff != "" {
		t.Errorf("direct and through the gateway: %s", diff)
	}
}

func TestStartupParametersReachTheServer(t *testing.T) {
	g := startGateway(t, nil)
	for _, test := range []struct{ name, parameters, show string }{
		{"options", `options|-c search_path=x -c lab.token=abc`, "search_path lab.token"},
		{"options with escapes", `options|-c lab.token=a\ b\\c --work_mem=7MB`, "lab.token work_mem"},
		{"driver settings", "extra_float_digits|2|DateStyle|ISO|TimeZone|Asia/Tokyo|client_encoding|LATIN1", "extra_float_digits DateStyle TimeZone client_encoding"},
		{"the later of two wins", "work_mem|1MB|work_mem|2MB", "work_mem"},
		{"unknown setting", "no_such_setting|1", ""},
		{"value that the server refuses", "work_mem|much", ""},
		{"setting above the user's rights", "log_statement|all", ""},
		{"malformed options", "options|-c", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			answers := func(address string) (all []message) {
				b := bareTo(t, address)
				b.startup(196608, "user|ann|database|lab|"+test.parameters+"|")
				for _, m := range b.logIn(password) {
					if m.kind == 'E' {
						return []message{m}
					}
				}
				for setting := range strings.FieldsSeq(test.show) {
					b.say('Q', "SHOW "+setting+"\x00")
					all = append(all, b.until('Z')...)
				}
				return all
			}
			if diff := cmp.Diff(answers(engineAddress()), answers(g.address()), cmp.AllowUnexported(message{})); diff != "" {
				t.Errorf("direct and through the gateway: %s", diff)
			}
		})
	}
}
