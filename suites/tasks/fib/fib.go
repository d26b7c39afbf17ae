// tasks/fib in Go: a goroutine for each forked call, its result through a channel with room for it.
package main

import (
	"runtime"

	"toll"
)

func fib(n uint64) uint64 {
	if n < 2 {
		return n
	}
	first := make(chan uint64, 1) // else the child would stay until its parent asks
	go func() { first <- fib(n - 1) }()
	second := fib(n - 2)
	return <-first + second
}

// The n-th Fibonacci number, by addition.
func number(n uint64) uint64 {
	var before, found uint64 = 1, 0
	for ; n > 0; n-- {
		before, found = found, before+found
	}
	return found
}

func setUp(arguments toll.Arguments) (toll.State, error) {
	n, threads := arguments["n"], arguments["threads"]
	if n < 2 || n > 60 {
		return toll.State{}, toll.Error{Kind: "usage", Message: "n must be 2 to 60"}
	}
	if threads < 1 || threads > 1024 {
		return toll.State{}, toll.Error{Kind: "usage", Message: "threads must be 1 to 1024"}
	}
	runtime.GOMAXPROCS(int(threads))
	return toll.State{
		Run:      func() uint64 { return fib(n) },
		Expected: number(n),
		Units:    number(n+1) - 1,
		Footing:  map[string]any{"threads": runtime.GOMAXPROCS(0)},
	}, nil
}

func main() {
	toll.Main(toll.Contender{Workload: "tasks/fib", Name: "go_goroutines", Library: "Go", Unit: "ns", Per: "task",
		Parameters: []toll.Parameter{
			{Name: "n", Default: "27", Meaning: "which Fibonacci number; each call of 2 or more forks the one of n - 1 and makes the one of n - 2 itself"},
			{Name: "threads", Default: "cpus", Unit: "threads", Meaning: "operating-system threads that run the tasks"},
		}, SetUp: setUp})
}
