package sql_test

import (
	"testing"

	"pglab/internal/lab"
)

// What a row may say is what the lab can read: the two grammars are one.
func TestQuantitiesAreWhatTheLabReads(t *testing.T) {
	texts := []string{
		"2", "0.5", "500m", "10m", "9m", "0.009", "0.01", "1000", "1000.1", "1000000m", "2 ", " 2", "2 m", "2M", "two", "-1", "+1", "1e3", ".5", "5.", "1.2.3", "0", "2\n", "2\nm", "٢",
		"512Mi", "512MB", "2Gi", "2GB", "1Ti", "1TB", "1048576", "1048575", "1048576b", "1024k", "1024Ki", "1024kB", "1K", "2M", "2m", "1G", "1T", "0.5Gi", "1 GB", "512 MiB", "512mb", "512mi", "1Pi",
		"4194304Ti", "4194305Ti", "99999999999999999999", "999999999999999999999999", "1XB", "12", "Mi", "",
	}
	r := newRoom(t, 15)
	for _, text := range texts {
		_, cpu := lab.ParseCPU(text)
		_, size := lab.ParseBytes(text)
		for column, err := range map[string]error{"cpu": cpu, "memory": size} {
			_, refusal := r.owner.Exec(t.Context(), "INSERT INTO lab.clusters (name, "+column+") VALUES ('a', $1)", text)
			if (err == nil) != (refusal == nil) {
				t.Errorf("%s %q: the lab says %v, the schema %v", column, text, err, refusal)
			}
			exec(t, r.owner, "TRUNCATE lab.clusters")
		}
	}
}
