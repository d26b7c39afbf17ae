package toll

import (
	"os"
	"sync/atomic"
)

// UnitsWanted tells whether the runner asks for a counting pass before `ready`.
func UnitsWanted() bool { return os.Getenv("TOLL_UNITS") != "" }

// Census counts concurrency units in a pass that nobody times.
type Census struct{ made, alive, peak int64 }

// Made is told before a unit starts.
func (c *Census) Made() {
	atomic.AddInt64(&c.made, 1)
	alive := atomic.AddInt64(&c.alive, 1)
	for peak := atomic.LoadInt64(&c.peak); peak < alive; peak = atomic.LoadInt64(&c.peak) {
		if atomic.CompareAndSwapInt64(&c.peak, peak, alive) {
			return
		}
	}
}

// Ended is told when it has done its work.
func (c *Census) Ended() { atomic.AddInt64(&c.alive, -1) }

// Tell puts what was counted into a footing.
func (c *Census) Tell(footing map[string]any) {
	footing["units_created"] = atomic.LoadInt64(&c.made)
	footing["units_alive_peak"] = atomic.LoadInt64(&c.peak)
}
