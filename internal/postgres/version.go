package postgres

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
)

// Version is a version of Postgres as its programs print it: "17.10",
// "18beta1", "19rc1", "19devel".
type Version struct {
	Text  string
	Major int
	stage int // devel, alpha, beta, rc, release
	minor int // within the stage
}

var stages = map[string]int{"devel": 0, "alpha": 1, "beta": 2, "rc": 3, ".": released}

const released = 4

var versionForm = regexp.MustCompile(`^([1-9][0-9]?)(?:(\.|alpha|beta|rc)([0-9]{1,3})|(devel))$`)

// ParseVersion reads an exact version. Versions before 10, which had
// majors of two parts, are not recognised.
func ParseVersion(text string) (Version, error) {
	match := versionForm.FindStringSubmatch(text)
	if match == nil {
		return Version{}, fmt.Errorf("%q is not a version such as '17.10' or '18beta1'", text)
	}
	version := Version{Text: text, stage: stages[match[2]+match[4]]}
	version.Major, _ = strconv.Atoi(match[1]) // digits by the form
	version.minor, _ = strconv.Atoi(match[3]) // digits, or nothing for devel
	return version, nil
}

// Compare orders versions by age: negative when v is older than w.
func (v Version) Compare(w Version) int {
	return cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.stage, w.stage), cmp.Compare(v.minor, w.minor))
}

// Released reports whether the version is a release and no devel, alpha,
// beta or release candidate.
func (v Version) Released() bool { return v.stage == released }

// String is the version as its program prints it.
func (v Version) String() string { return v.Text }

// Matches reports whether the version is what a user asked for: a major
// ("16") or an exact version ("17.10").
func (v Version) Matches(asked string) bool {
	return asked == v.Text || asked == strconv.Itoa(v.Major)
}
