// tasks/nqueens in Go: a goroutine for each queen of a column but the last, results through one channel a column.
package main

import (
	"fmt"
	"runtime"

	"toll"
)

const largest = 14

// Solutions on boards of 4 to 14.
var solutions = [...]uint64{2, 10, 4, 40, 92, 352, 724, 2680, 14200, 73712, 365596}

// The row of the queen in each column so far.
type board [largest]int8

// Rows of the next column that no queen of the first `placed` threatens.
func (b *board) free(n, placed int) (rows board, count int) {
	for row := 0; row < n; row++ {
		if b.isFree(placed, row) {
			rows[count] = int8(row)
			count++
		}
	}
	return rows, count
}

func (b *board) isFree(placed, row int) bool {
	for column := 0; column < placed; column++ {
		queen, apart := int(b[column]), placed-column
		if queen == row || queen == row-apart || queen == row+apart {
			return false
		}
	}
	return true
}

func from(b board, n, placed int) uint64 {
	if placed == n {
		return 1
	}
	rows, count := b.free(n, placed)
	if count == 0 {
		return 0
	}
	found := make(chan uint64, count) // room for all: no child waits for its parent
	for i := 0; i < count-1; i++ {
		b[placed] = rows[i]
		go func(b board) { found <- from(b, n, placed+1) }(b)
	}
	b[placed] = rows[count-1]
	sum := from(b, n, placed+1)
	for i := 0; i < count-1; i++ {
		sum += <-found
	}
	return sum
}

// How many queens all tries place together.
func queensPlaced(b board, n, placed int) uint64 {
	if placed == n {
		return 0
	}
	rows, count := b.free(n, placed)
	sum := uint64(count)
	for i := 0; i < count; i++ {
		b[placed] = rows[i]
		sum += queensPlaced(b, n, placed+1)
	}
	return sum
}

func setUp(arguments toll.Arguments) (toll.State, error) {
	n, threads := arguments["n"], arguments["threads"]
	if n < 4 || n > largest {
		return toll.State{}, toll.Error{Kind: "usage", Message: fmt.Sprintf("n must be 4 to %d", largest)}
	}
	if threads < 1 || threads > 1024 {
		return toll.State{}, toll.Error{Kind: "usage", Message: "threads must be 1 to 1024"}
	}
	runtime.GOMAXPROCS(int(threads))
	return toll.State{
		Run:      func() uint64 { return from(board{}, int(n), 0) },
		Expected: solutions[n-4],
		Units:    queensPlaced(board{}, int(n), 0),
		Footing:  map[string]any{"threads": runtime.GOMAXPROCS(0)},
	}, nil
}

func main() {
	toll.Main(toll.Contender{Workload: "tasks/nqueens", Name: "go_goroutines", Library: "Go", Unit: "ns", Per: "task",
		Parameters: []toll.Parameter{
			{Name: "n", Default: "11", Unit: "queens", Meaning: "queens on a board of n by n squares, 4 to 14"},
			{Name: "threads", Default: "cpus", Unit: "threads", Meaning: "operating-system threads that run the tasks"},
		}, SetUp: setUp})
}
