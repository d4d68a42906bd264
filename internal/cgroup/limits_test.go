package cgroup

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLimitsAreReadBack(t *testing.T) {
	for _, test := range []struct {
		tree string
		want Limits
	}{
		{"v1", Limits{CPUQuotaUsec: new(int64(20000)), CPUPeriodUsec: new(int64(100000))}},
		{"v2", Limits{CPUQuotaUsec: new(int64(50000)), CPUPeriodUsec: new(int64(100000)), MemoryBytes: new(int64(209715200))}},
		{"v2_odd", Limits{}},
		{"v2_bare", Limits{}},
	} {
		t.Run(test.tree, func(t *testing.T) {
			groups, err := recorded(t, test.tree).Groups(100)
			if err != nil {
				t.Fatal(err)
			}
			limits, err := groups.Limits()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, limits); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLimitInCPUs(t *testing.T) {
	if cpus := (Limits{}).CPUs(); cpus != nil {
		t.Errorf("no quota reads as %v CPUs, want none", *cpus)
	}
	limits := Limits{CPUQuotaUsec: new(int64(150000)), CPUPeriodUsec: new(int64(100000))}
	if cpus := limits.CPUs(); cpus == nil || *cpus != 1.5 {
		t.Errorf("got %v, want 1.5", cpus)
	}
}
