// tasks/skynet in Go: a goroutine for each node, results through one channel a parent, as in
// github.com/atemerev/skynet (skynet.go), whose channels are unbuffered too.
package main

import (
	"fmt"
	"runtime"

	"toll"
)

const children = 10

func skynet(result chan<- uint64, ordinal, size uint64) {
	if size == 1 {
		result <- ordinal
		return
	}
	sums := make(chan uint64)
	for i := uint64(0); i < children; i++ {
		go skynet(sums, ordinal+i*(size/children), size/children)
	}
	var sum uint64
	for i := 0; i < children; i++ {
		sum += <-sums
	}
	result <- sum
}

// The same tree, with its goroutines told to the census: counting costs too much to be timed.
func countedSkynet(units *toll.Census, result chan<- uint64, ordinal, size uint64) {
	defer units.Ended()
	if size == 1 {
		result <- ordinal
		return
	}
	sums := make(chan uint64)
	for i := uint64(0); i < children; i++ {
		units.Made()
		go countedSkynet(units, sums, ordinal+i*(size/children), size/children)
	}
	var sum uint64
	for i := 0; i < children; i++ {
		sum += <-sums
	}
	result <- sum
}

func count(tasks uint64) (*toll.Census, uint64) {
	units := &toll.Census{}
	result := make(chan uint64)
	units.Made()
	go countedSkynet(units, result, 0, tasks)
	return units, <-result
}

func setUp(arguments toll.Arguments) (toll.State, error) {
	tasks := arguments["tasks"]
	units := uint64(1) // the root is a goroutine too
	size := tasks
	for ; size >= children && size%children == 0; size /= children {
		units += size
	}
	if size != 1 {
		return toll.State{}, toll.Error{Kind: "unsupported",
			Message: fmt.Sprintf("tasks must be a power of 10, got %d", tasks)}
	}
	if threads := arguments["threads"]; threads > 1024 {
		return toll.State{}, toll.Error{Kind: "usage", Message: "threads must be 1024 at most, 0 for Go's own choice"}
	} else if threads > 0 {
		runtime.GOMAXPROCS(int(threads))
	}
	footing := map[string]any{"threads": runtime.GOMAXPROCS(0), "units_created": units, "results": "channel"}
	if toll.UnitsWanted() {
		counted, sum := count(tasks)
		if sum != tasks*(tasks-1)/2 {
			return toll.State{}, toll.Error{Kind: "wrong_answer", Message: "the sum is wrong while units are counted"}
		}
		counted.Tell(footing)
	}
	return toll.State{
		Run: func() uint64 {
			result := make(chan uint64)
			go skynet(result, 0, tasks)
			return <-result
		},
		Expected: tasks * (tasks - 1) / 2,
		Units:    tasks,
		Footing:  footing,
	}, nil
}

// With a number of its own it would be go_goroutines under another name.
func setUpByChoice(arguments toll.Arguments) (toll.State, error) {
	if threads := arguments["threads"]; threads != 0 {
		return toll.State{}, toll.Error{Kind: "unsupported",
			Message: "GOMAXPROCS is left to Go here; ask for threads=0, or measure go_goroutines"}
	}
	return setUp(arguments)
}

func main() {
	offered := func(name, threads string, setUp func(toll.Arguments) (toll.State, error)) toll.Contender {
		return toll.Contender{Workload: "tasks/skynet", Name: name, Library: "Go", Unit: "ns", Per: "task",
			Parameters: []toll.Parameter{
				{Name: "tasks", Default: "100000", Unit: "leaf tasks", Meaning: "leaves of the tree, a power of 10"},
				{Name: "threads", Default: threads, Unit: "threads", Meaning: "operating-system threads that run the tasks; 0: one for each task, or as many as the runtime chooses"},
				{Name: "pinning", Default: "none", Meaning: "none: the kernel places the threads; each_cpu: thread i is tied to the i-th CPU that the process may use, from the first again where CPUs are fewer", Only: "Go makes the threads that run goroutines, and offers no way to tie them"},
			}, SetUp: setUp}
	}
	toll.Main(offered("go_goroutines", "cpus", setUp), offered("go_gomaxprocs_default", "0", setUpByChoice))
}
