package toll

import (
	"sort"
	"syscall"
	"time"
)

// Of all threads of the process so far.
type resources struct {
	cpuNs, voluntary, involuntary, minorFaults, majorFaults, peakBytes int64
}

func usage() resources {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err) // cannot happen: RUSAGE_SELF is always there
	}
	return resources{syscall.TimevalToNsec(r.Utime) + syscall.TimevalToNsec(r.Stime),
		r.Nvcsw, r.Nivcsw, r.Minflt, r.Majflt, r.Maxrss * 1024}
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
