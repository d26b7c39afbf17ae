package toll

import (
	"fmt"
	"os"
	"sort"
	"strings"
	"syscall"
	"time"
)

// Of all threads of the process so far.
type resources struct {
	cpuNs, voluntary, involuntary, minorFaults, majorFaults int64
}

func usage() resources {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // cannot happen: RUSAGE_SELF is always there
	}
	return resources{syscall.TimevalToNsec(r.Utime) + syscall.TimevalToNsec(r.Stime),
		r.Nvcsw, r.Nivcsw, r.Minflt, r.Majflt}
}

// The highest resident set so far, 0 where unknown. Not ru_maxrss, which survives exec: it shows the size of
// whoever launched the program.
func peakBytes() int64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kibibytes int64
	fmt.Sscan(rest, &kibibytes)
	return kibibytes * 1024
}

// The clock as it is found: the median of what two reads in a row are apart, and the smallest step seen.
func clock() map[string]any {
	apart := make([]float64, 1001)
	step := 1e9
	for i := range apart {
		first := time.Now()
		apart[i] = float64(time.Since(first).Nanoseconds())
		if apart[i] > 0 && apart[i] < step {
			step = apart[i]
		}
	}
	sort.Float64s(apart)
	return map[string]any{"source": "monotonic (Go's time.Now)", "resolution_ns": step,
		"overhead_ns": apart[len(apart)/2], "frequency_hz": 1e9}
}
