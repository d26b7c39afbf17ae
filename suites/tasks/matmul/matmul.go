// tasks/matmul in Go: a goroutine for each of three quarters, whose parent multiplies the fourth, then the same again.
package main

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync"

	"toll"
)

const (
	leaf     = 32 // rows of a block that is multiplied at once
	smallest = 2 * leaf
	largest  = 2048
)

// Two matrices of `stride` columns, and their product; modulo 2^32.
type matrices struct {
	left, right, result []uint32
	stride              int
}

// A product of two square blocks, by where they begin. It is added to what is there, or takes its place.
type product struct {
	left, right, result, size int
	adds                      bool
}

// The `inner`-th of the two products that the quarter in row i and column j is the sum of.
func (p product) quarter(stride, i, inner, j int) product {
	half := p.size / 2
	return product{
		left:   p.left + (i*stride+inner)*half,
		right:  p.right + (inner*stride+j)*half,
		result: p.result + (i*stride+j)*half,
		size:   half,
		adds:   p.adds || inner > 0,
	}
}

func (m *matrices) multiply(p product) {
	if p.size == leaf {
		m.multiplyLeaf(p)
		return
	}
	for inner := 0; inner < 2; inner++ {
		var others sync.WaitGroup
		others.Add(3)
		for at := 0; at < 3; at++ {
			part := p.quarter(m.stride, at/2, inner, at%2)
			go func() {
				m.multiply(part)
				others.Done()
			}()
		}
		m.multiply(p.quarter(m.stride, 1, inner, 1))
		others.Wait()
	}
}

func (m *matrices) multiplyLeaf(p product) {
	for i := 0; i < leaf; i++ {
		var sums [leaf]uint32
		row := (*[leaf]uint32)(m.result[p.result+i*m.stride:])
		if p.adds {
			sums = *row
		}
		factors := (*[leaf]uint32)(m.left[p.left+i*m.stride:])
		for k, factor := range factors {
			others := (*[leaf]uint32)(m.right[p.right+k*m.stride:])
			for j := range sums {
				sums[j] += factor * others[j]
			}
		}
		*row = sums
	}
}

// What is asked for again and again, and how often it was.
type multiplier struct {
	matrices
	asked  int
	answer uint32 // of the first time
}

// One element of each tile of 32 by 32, in the place of this time.
func (m *multiplier) eachTile(work func(row, column int)) {
	for row := m.asked % leaf; row < m.stride; row += leaf {
		for column := (m.asked + m.asked/leaf) % leaf; column < m.stride; column += leaf {
			work(row, column)
		}
	}
}

// What the sum over k of (3 row + k + 1) (k + 5 column + 2) comes to.
func (m *multiplier) element(row, column int) uint32 {
	n, one, other := uint64(m.stride), uint64(3*row+1), uint64(5*column+2)
	return uint32(n*one*other + (one+other)*(n*(n-1)/2) + (n-1)*n*(2*n-1)/6)
}

// The answer of the first time, to which the difference is added of other elements from what they shall be: the
// library wants the same one each time.
func (m *multiplier) run() uint64 {
	// What is looked at is spoiled before: a tile that nobody fills would still be right from the last time.
	m.eachTile(func(row, column int) { m.result[row*m.stride+column] = ^uint32(0) })
	m.multiply(product{size: m.stride})
	var sum, shall uint32
	m.eachTile(func(row, column int) {
		sum += m.result[row*m.stride+column]
		shall += m.element(row, column)
	})
	m.asked++
	return uint64(sum - shall + m.answer)
}

func products(n int) uint64 {
	var found uint64
	for each, size := uint64(8), n/2; size >= leaf; each, size = each*8, size/2 {
		found += each
	}
	return found
}

func setUp(arguments toll.Arguments) (toll.State, error) {
	n, threads := arguments["n"], arguments["threads"]
	if n < smallest || n > largest || bits.OnesCount64(n) != 1 {
		return toll.State{}, toll.Error{Kind: "usage", Message: "n must be a power of two from 64 to 2048"}
	}
	if threads < 1 || threads > 1024 {
		return toll.State{}, toll.Error{Kind: "usage", Message: fmt.Sprintf("threads must be 1 to 1024, got %d", threads)}
	}
	runtime.GOMAXPROCS(int(threads))
	size := int(n)
	m := &multiplier{matrices: matrices{
		left: make([]uint32, size*size), right: make([]uint32, size*size), result: make([]uint32, size*size), stride: size,
	}}
	for i := 0; i < size; i++ {
		for j := 0; j < size; j++ {
			m.left[i*size+j] = uint32(3*i + j + 1)
			m.right[i*size+j] = uint32(i + 5*j + 2)
		}
	}
	m.eachTile(func(row, column int) { m.answer += m.element(row, column) })
	return toll.State{
		Run:      m.run,
		Expected: uint64(m.answer),
		Units:    products(size),
		Footing:  map[string]any{"threads": runtime.GOMAXPROCS(0)},
	}, nil
}

func main() {
	toll.Main(toll.Contender{Workload: "tasks/matmul", Name: "go_goroutines", Library: "Go", Unit: "ns", Per: "task",
		Parameters: []toll.Parameter{
			{Name: "n", Default: "256", Unit: "", Meaning: "rows and columns of the matrices, a power of two from 64 to 2048"},
			{Name: "threads", Default: "cpus", Unit: "threads", Meaning: "operating-system threads that run the tasks"},
		}, SetUp: setUp})
}
