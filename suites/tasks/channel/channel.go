// tasks/channel in Go: a goroutine for each producer and each consumer, one buffered channel.
package main

import (
	"fmt"
	"runtime"
	"sync"

	"toll"
)

const capacity = 1024

// The numbers that a producer sends.
func share(messages, sides, index uint64) (first, count uint64) {
	each, longer := messages/sides, messages%sides
	if index < longer {
		return 1 + index*(each+1), each + 1
	}
	return 1 + index*each + longer, each
}

// What all consumers took: how many and their sum.
func through(messages, sides uint64) (count, sum uint64) {
	channel := make(chan uint64, capacity)
	var producers, consumers sync.WaitGroup
	counts, sums := make([]uint64, sides), make([]uint64, sides)
	for i := uint64(0); i < sides; i++ {
		producers.Add(1)
		consumers.Add(1)
		go func(i uint64) {
			defer producers.Done()
			first, count := share(messages, sides, i)
			for number := first; number < first+count; number++ {
				channel <- number
			}
		}(i)
		go func(i uint64) {
			defer consumers.Done()
			var count, sum uint64 // of its own: what lies beside each other is one cache line
			for number := range channel {
				count++
				sum += number
			}
			counts[i], sums[i] = count, sum
		}(i)
	}
	producers.Wait()
	close(channel)
	consumers.Wait()
	for i := range counts {
		count += counts[i]
		sum += sums[i]
	}
	return count, sum
}

func setUp(arguments toll.Arguments) (toll.State, error) {
	messages, threads := arguments["messages"], arguments["threads"]
	if messages < 1 || messages > 1_000_000_000 {
		return toll.State{}, toll.Error{Kind: "usage", Message: "messages must be 1 to 1000000000"}
	}
	if threads < 1 || threads > 1024 {
		return toll.State{}, toll.Error{Kind: "usage", Message: "threads must be 1 to 1024"}
	}
	sides := threads / 2
	if sides == 0 {
		sides = 1
	}
	runtime.GOMAXPROCS(int(threads))
	return toll.State{
		Run: func() uint64 {
			count, sum := through(messages, sides)
			if count != messages { // told by the sum as well; it says what is wrong
				panic(fmt.Sprintf("%d messages came of %d", count, messages))
			}
			return sum
		},
		Expected: messages * (messages + 1) / 2,
		Units:    messages,
		Footing:  map[string]any{"threads": runtime.GOMAXPROCS(0), "producers": sides, "consumers": sides},
	}, nil
}

func main() {
	toll.Main(toll.Contender{Workload: "tasks/channel", Name: "go_channel", Library: "Go", Unit: "ns", Per: "message",
		Parameters: []toll.Parameter{
			{Name: "messages", Default: "100000", Unit: "messages", Meaning: "numbers that go through the channel, of all producers"},
			{Name: "threads", Default: "cpus", Unit: "threads", Meaning: "operating-system threads that run half as many producers and consumers each, at least one"},
		}, SetUp: setUp})
}
