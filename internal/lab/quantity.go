package lab

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

var quantityForm = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)$`)

// ParseCPU reads a CPU quantity as Kubernetes writes it ("500m", "2",
// "0.5") into thousandths of a CPU. Empty text is 0: no limit.
func ParseCPU(text string) (millis int64, err error) {
	if text == "" {
		return 0, nil
	}
	match := quantityForm.FindStringSubmatch(text)
	if match == nil || (match[2] != "" && match[2] != "m") {
		return 0, fmt.Errorf("%q is not a number of CPUs such as '2', '0.5' or '500m'", text)
	}
	number, err := strconv.ParseFloat(match[1], 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of CPUs such as '2', '0.5' or '500m'", text)
	}
	if match[2] == "" {
		number *= 1000
	}
	millis = int64(math.Round(number))
	if millis < 10 || millis > 1_000_000 {
		return 0, fmt.Errorf("%q is outside 10m to 1000 CPUs", text)
	}
	return millis, nil
}

// byteUnits holds both spellings that users write: Kubernetes' (Mi is binary,
// M is decimal) and Postgres' (MB is binary, as in shared_buffers).
var byteUnits = map[string]float64{
	"": 1, "b": 1,
	"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40,
	"kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40,
	"k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12,
}

// ParseBytes reads a quantity of memory or storage ("512Mi", "2Gi", "512MB",
// "1GB") into bytes. Empty text is 0: no limit.
func ParseBytes(text string) (bytes int64, err error) {
	if text == "" {
		return 0, nil
	}
	match := quantityForm.FindStringSubmatch(text)
	if match == nil {
		return 0, fmt.Errorf("%q is not a size such as '512Mi', '2Gi' or '512MB'", text)
	}
	unit, known := byteUnits[strings.ToLower(match[2])]
	// "500m" means half a byte to Kubernetes and 500 million to nobody.
	if !known || match[2] == "m" {
		return 0, fmt.Errorf("%q has an unknown unit; use Ki, Mi, Gi, kB, MB or GB", text)
	}
	number, err := strconv.ParseFloat(match[1], 64)
	if err != nil || number*unit > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is not a size such as '512Mi', '2Gi' or '512MB'", text)
	}
	bytes = int64(number * unit)
	if bytes < 1<<20 {
		return 0, fmt.Errorf("%q is less than 1 MiB", text)
	}
	return bytes, nil
}
