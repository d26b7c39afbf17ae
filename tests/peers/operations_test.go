// Some of the operations as a Go test binary. PEERS_SLOWDOWN is the slow-down in per mille.
package operations

import (
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var kept uint64 // what nobody else reads would be left out

// block makes some calls, then waits for a share of the time that they took, as slowed.hpp does.
func block(calls int, share float64, call func() uint64) {
	begin := time.Now()
	right := uint64(0)
	for range calls {
		right += call()
	}
	if right != uint64(calls) {
		panic("a wrong answer")
	}
	kept += right
	ends := time.Duration(float64(time.Since(begin)) * (1 + share))
	for time.Since(begin) < ends {
	}
}

func one(right bool) uint64 {
	if right {
		return 1
	}
	return 0
}

func mapLookup() func() uint64 {
	const entries, spread = uint32(1_000), uint32(2_654_435_761)
	table := map[uint32]uint32{}
	for key := range entries {
		table[key*spread] = key
	}
	state := uint64(1)
	return func() uint64 {
		state = state*6_364_136_223_846_793_005 + 1_442_695_040_888_963_407
		key := uint32(state>>33) % entries
		return one(table[key*spread] == key)
	}
}

func atomicAdd() func() uint64 {
	var counter atomic.Uint64
	calls := uint64(0)
	return func() uint64 {
		calls++
		return one(counter.Add(1) == calls)
	}
}

func uncontendedLock() func() uint64 {
	var mutex sync.Mutex
	protected := 0
	return func() uint64 {
		mutex.Lock()
		defer mutex.Unlock()
		protected++
		return one(protected != 0)
	}
}

func shortString() func() uint64 {
	number := 0
	return func() uint64 {
		text := "key" + strconv.Itoa(1_000_000+number%1_000_000)
		number++
		return one(len(text) == 10 && text[3] == '1')
	}
}

func sort512() func() uint64 {
	unsorted, sorted := make([]uint32, 512), make([]uint32, 512)
	state := uint64(1)
	for index := range unsorted {
		state = state*6_364_136_223_846_793_005 + 1_442_695_040_888_963_407
		unsorted[index] = uint32(state >> 33)
	}
	low, high := slices.Min(unsorted), slices.Max(unsorted)
	return func() uint64 {
		copy(sorted, unsorted)
		slices.Sort(sorted)
		return one(sorted[0] == low && sorted[511] == high)
	}
}

func sum4096() func() uint64 {
	numbers := make([]uint32, 4_096)
	for index := range numbers {
		numbers[index] = uint32(index + 1)
	}
	return func() uint64 {
		sum := uint32(0)
		for _, number := range numbers {
			sum += number
		}
		return one(sum == 4_096*4_097/2)
	}
}

func BenchmarkOperation(b *testing.B) {
	perMille, _ := strconv.ParseFloat(os.Getenv("PEERS_SLOWDOWN"), 64)
	for _, operation := range []struct {
		name  string
		calls int
		call  func() uint64
	}{
		{"hash_map_lookup", 10_000, mapLookup()},
		{"atomic_add", 40_000, atomicAdd()},
		{"uncontended_lock", 10_000, uncontendedLock()},
		{"short_string", 5_000, shortString()},
		{"sort_512", 20, sort512()},
		{"sum_4096", 200, sum4096()},
	} {
		b.Run(operation.name, func(b *testing.B) {
			for b.Loop() {
				block(operation.calls, perMille/1_000, operation.call)
			}
		})
	}
}
