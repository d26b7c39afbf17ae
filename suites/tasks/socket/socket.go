// tasks/socket in Go: a goroutine for each end of a connection, on two threads.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"

	"toll"
)

const words = 8

type message [words * 8]byte

func (m *message) word(i int) uint64 { return binary.LittleEndian.Uint64(m[8*i:]) }

func (m *message) set(i int, word uint64) { binary.LittleEndian.PutUint64(m[8*i:], word) }

func (m *message) ask(number uint64) {
	for i := 0; i < words; i++ {
		m.set(i, number+uint64(i))
	}
}

func (m *message) answer() {
	for i := 0; i < words; i++ {
		m.set(i, 2*m.word(i))
	}
}

// Twice the number, if that is the answer to the request of this number, else 0.
func (m *message) checked(number uint64) uint64 {
	for i := 0; i < words; i++ {
		if m.word(i) != 2*(number+uint64(i)) {
			return 0
		}
	}
	return m.word(0)
}

// Numbers of the requests of one connection.
func share(requests, connections, index uint64) (first, count uint64) {
	each, longer := requests/connections, requests%connections
	if index < longer {
		return 1 + index*(each+1), each + 1
	}
	return 1 + index*each + longer, each
}

// Until the client has closed, which is where the process ends.
func serve(connection net.Conn) {
	var m message
	for {
		if _, err := io.ReadFull(connection, m[:]); err != nil {
			return
		}
		m.answer()
		if _, err := connection.Write(m[:]); err != nil {
			return
		}
	}
}

func ask(connection net.Conn, first, count uint64) (sum uint64, err error) {
	var m message
	for number := first; number < first+count; number++ {
		m.ask(number)
		if _, err := connection.Write(m[:]); err != nil {
			return 0, err
		}
		if _, err := io.ReadFull(connection, m[:]); err != nil {
			return 0, err
		}
		sum += m.checked(number)
	}
	return sum, nil
}

func connect(count uint64) ([]net.Conn, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	clients := make([]net.Conn, count)
	for i := range clients {
		if clients[i], err = net.Dial("tcp4", listener.Addr().String()); err != nil { // with TCP_NODELAY, as Go has it
			return nil, err
		}
		server, err := listener.Accept()
		if err != nil {
			return nil, err
		}
		go serve(server)
	}
	return clients, nil
}

func setUp(arguments toll.Arguments) (toll.State, error) {
	requests, connections := arguments["requests"], arguments["connections"]
	if requests < 1 || requests > 1_000_000_000 {
		return toll.State{}, toll.Error{Kind: "usage", Message: "requests must be 1 to 1000000000"}
	}
	if connections < 1 || connections > 400 {
		return toll.State{}, toll.Error{Kind: "usage", Message: "connections must be 1 to 400"}
	}
	runtime.GOMAXPROCS(2)
	clients, err := connect(connections)
	if err != nil {
		return toll.State{}, toll.Error{Kind: "resource", Message: fmt.Sprintf("cannot connect over loopback: %v", err)}
	}
	type answered struct {
		sum uint64
		err error
	}
	return toll.State{
		Run: func() uint64 {
			all := make(chan answered, connections)
			for i, client := range clients {
				first, count := share(requests, connections, uint64(i))
				go func(client net.Conn) {
					sum, err := ask(client, first, count)
					all <- answered{sum, err}
				}(client)
			}
			var sum uint64
			for range clients {
				one := <-all
				if one.err != nil {
					panic(one.err)
				}
				sum += one.sum
			}
			return sum
		},
		Expected: requests * (requests + 1),
		Units:    requests,
		Footing:  map[string]any{"connections": connections, "threads": runtime.GOMAXPROCS(0)},
	}, nil
}

func main() {
	toll.Main(toll.Contender{Workload: "tasks/socket", Name: "go_net", Library: "Go", Unit: "ns", Per: "request",
		Parameters: []toll.Parameter{
			{Name: "requests", Default: "10000", Unit: "requests", Meaning: "requests over all connections, each with its answer"},
			{Name: "connections", Default: "20", Unit: "connections", Meaning: "TCP connections over loopback, open all along"},
		}, SetUp: setUp})
}
