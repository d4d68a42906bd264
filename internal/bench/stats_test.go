package bench

import (
	"math"
	"slices"
	"testing"
)

// figures are repeated measurements of one thing.
type figures []float64

// quantile interpolates between the two nearest figures; NaN without any.
func (f figures) quantile(share float64) float64 {
	if len(f) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(f))
	place := share * float64(len(sorted)-1)
	below := int(place)
	above := min(below+1, len(sorted)-1)
	return sorted[below] + (place-float64(below))*(sorted[above]-sorted[below])
}

func (f figures) median() float64 { return f.quantile(0.5) }

// ratio is what paired measurements say about the quotient of two arms: the
// geometric mean with its 95 % interval, from Student's t on log-ratios.
type ratio struct{ mean, low, high float64 }

// paired compares the arms of pairs that ran next to each other.
func paired(arm, base figures) ratio {
	n := float64(len(arm))
	var sum, squares float64
	for i := range arm {
		sum += math.Log(arm[i] / base[i])
	}
	mean := sum / n
	for i := range arm {
		deviation := math.Log(arm[i]/base[i]) - mean
		squares += deviation * deviation
	}
	half := studentT(len(arm)-1) * math.Sqrt(squares/(n-1)/n)
	return ratio{math.Exp(mean), math.Exp(mean - half), math.Exp(mean + half)}
}

// width is half the interval, as a share of the mean.
func (r ratio) width() float64 { return (r.high - r.low) / 2 / r.mean }

// studentT is the 97.5 % quantile of Student's t distribution.
func studentT(freedom int) float64 {
	table := []float64{
		math.NaN(), 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
	}
	return table[min(freedom, len(table)-1)] // a little wide beyond its end
}

func TestQuantileInterpolates(t *testing.T) {
	for name, test := range map[string]struct {
		of    figures
		share float64
		want  float64
	}{
		"middle of an odd number":   {figures{3, 1, 2}, 0.5, 2},
		"middle of an even number":  {figures{4, 1, 3, 2}, 0.5, 2.5},
		"between two":               {figures{0, 10}, 0.1, 1},
		"highest":                   {figures{5, 7}, 1, 7},
		"one figure is all of them": {figures{5}, 0.9, 5},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.of.quantile(test.share); math.Abs(got-test.want) > 1e-12 {
				t.Errorf("quantile %v of %v is %v, want %v", test.share, test.of, got, test.want)
			}
		})
	}
}

func TestPairedHidesWhatBothArmsShare(t *testing.T) {
	base := figures{100, 200, 50, 400}
	var arm figures
	for i, figure := range base {
		arm = append(arm, figure*[]float64{1.01, 1.03, 1.01, 1.03}[i])
	}
	got := paired(arm, base)
	if math.Abs(got.mean-1.02) > 1e-3 || got.low > 1.01 || got.low < 0.99 || got.high < 1.03 || got.high > 1.05 {
		t.Errorf("ratio is %+v, want 1.02 with an interval from about 1.00 to 1.04", got)
	}
}
