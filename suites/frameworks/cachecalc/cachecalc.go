// frameworks/cachecalc in Go: a goroutine for each task, a mutex around the map, time.Sleep.
package main

import (
	"fmt"
	"os"
	"runtime"
	"sort"
	"strconv"
	"sync"
	"time"

	"toll"
)

const (
	keys         = 10
	firstValue   = 10_000
	stampedEvery = 16
)

type cache struct {
	mutex  sync.Mutex
	values map[string]string
}

func (c *cache) compute() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i := 0; i < keys; i++ {
		key := "hello" + strconv.Itoa(i)
		number := firstValue
		if text, known := c.values[key]; known {
			number, _ = strconv.Atoi(text) // holds compares the text in the end
		}
		c.values[key] = strconv.Itoa(number + 1)
	}
}

func (c *cache) holds(computations uint64) bool {
	for _, text := range c.values {
		if text != strconv.FormatUint(firstValue+computations, 10) {
			return false
		}
	}
	return len(c.values) == keys
}

type load struct {
	tasks uint64
	wait  time.Duration
	waits []time.Duration // of every 16th task of the last iteration
}

func (l *load) task(c *cache, number uint64) {
	c.compute()
	if number%stampedEvery == 0 {
		begin := time.Now()
		time.Sleep(l.wait)
		l.waits[number/stampedEvery] = time.Since(begin)
	} else {
		time.Sleep(l.wait)
	}
	c.compute()
}

// The tasks that were done rightly: all of them or none.
func (l *load) run() uint64 {
	c := &cache{values: map[string]string{}}
	var running sync.WaitGroup
	running.Add(int(l.tasks))
	for number := uint64(0); number < l.tasks; number++ {
		go func(number uint64) {
			defer running.Done()
			l.task(c, number)
		}(number)
	}
	running.Wait()
	if !c.holds(2 * l.tasks) {
		fmt.Fprintln(os.Stderr, "a key of the map does not hold what its tasks computed")
		return 0
	}
	sort.Slice(l.waits, func(i, j int) bool { return l.waits[i] < l.waits[j] })
	if l.waits[0] < l.wait {
		fmt.Fprintf(os.Stderr, "a task waited %v instead of %v\n", l.waits[0], l.wait)
		return 0
	}
	return l.tasks
}

func (l *load) details() map[string]float64 {
	microseconds := func(wait time.Duration) float64 { return float64(wait.Nanoseconds()) / 1e3 }
	return map[string]float64{
		"wait_median_us":  microseconds(l.waits[len(l.waits)/2]),
		"wait_longest_us": microseconds(l.waits[len(l.waits)-1]),
	}
}

func setUp(arguments toll.Arguments) (toll.State, error) {
	tasks, threads, wait := arguments["tasks"], arguments["threads"], arguments["wait_us"]
	if tasks < 1 || tasks > 10_000_000 || threads < 1 || threads > 1024 || wait > 1_000_000 {
		return toll.State{}, toll.Error{Kind: "usage",
			Message: "tasks must be 1 to 10000000, threads 1 to 1024, wait_us 1000000 at most"}
	}
	runtime.GOMAXPROCS(int(threads))
	l := &load{tasks, time.Duration(wait) * time.Microsecond, make([]time.Duration, (tasks+stampedEvery-1)/stampedEvery)}
	return toll.State{Run: l.run, Expected: tasks, Units: tasks, Details: l.details, Footing: map[string]any{
		"threads": runtime.GOMAXPROCS(0), "serialized_by": "sync.Mutex", "waits": "goroutine sleeps; its thread runs others",
	}}, nil
}

func main() {
	toll.Main(toll.Contender{Workload: "frameworks/cachecalc", Name: "go_goroutines", Library: "Go", Unit: "ns", Per: "task",
		Parameters: []toll.Parameter{
			{Name: "tasks", Default: "1000", Unit: "tasks", Meaning: "tasks of one iteration"},
			{Name: "wait_us", Default: "8", Unit: "us", Meaning: "what each task waits between its two computations"},
			{Name: "threads", Default: "cpus", Unit: "threads", Meaning: "threads of the contender's pool, or of its runtime"},
		}, SetUp: setUp})
}
