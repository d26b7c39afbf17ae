// Package toll lets a Go program take part in toll's runs: it speaks protocol 1 (docs/protocol.md).
package toll

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Parameter is one input of a workload. A default of "cpus" is the number of usable CPUs.
type Parameter struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Unit    string `json:"unit"`
	Meaning string `json:"meaning"`
	Only    string `json:"-"` // why Default, which may be a word, is the only value here; not in Arguments then
}

// Contender is one answer to a workload.
type Contender struct {
	Workload   string
	Name       string
	Library    string
	Unit       string
	Per        string
	Parameters []Parameter
	SetUp      func(Arguments) (State, error) // what is not timed
}

// State is a contender that is ready to run.
type State struct {
	Run      func() uint64  // one timed iteration; returns its answer
	Expected uint64         // the right answer of one iteration
	Units    uint64         // what Contender.Per counts, for each iteration
	Footing  map[string]any // what it stands on, as observed
	Details  func() map[string]float64 // optional: more numbers about the batch just run, as suite.toml declares them
}

// Arguments are the parameters' values by name.
type Arguments map[string]uint64

// Error is an answer of protocol 1 instead of a result.
type Error struct{ Kind, Message string }

func (e Error) Error() string { return e.Message }

// How long the runner may go on warming a launch: the collector's pace settles within this.
const warmupLimit = time.Second

const mostIterations = 1 << 53

// Main runs one command line and does not return.
func Main(contenders ...Contender) {
	arguments := os.Args[1:]
	if len(arguments) > 0 && arguments[0] == "describe" {
		write(description(contenders))
		os.Exit(0)
	}
	if len(arguments) > 0 && arguments[0] == "serve" {
		if err := serve(contenders, arguments[1:]); err != nil {
			write(errorAnswer(err))
			os.Exit(1)
		}
		os.Exit(0)
	}
	if err := show(contenders, arguments); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(0)
}

func description(contenders []Contender) map[string]any {
	offered := []map[string]any{}
	for _, c := range contenders {
		offered = append(offered, map[string]any{
			"workload": c.Workload, "contender": c.Name, "library": c.Library,
			"library_version": runtime.Version(), "kind": "batch", "unit": c.Unit, "per": c.Per,
			"parameters": c.Parameters,
		})
	}
	return map[string]any{"type": "description", "protocol": 1, "language": "Go",
		"compiler": runtime.Compiler + " " + runtime.Version(), "contenders": offered}
}

func serve(contenders []Contender, words []string) error {
	if len(words) < 2 {
		return Error{"usage", "serve needs WORKLOAD CONTENDER, then name=value ..."}
	}
	processNs := usage().cpuNs
	started := time.Now()
	state, err := setUp(contenders, words[0], words[1], words[2:])
	if err != nil {
		return err
	}
	write(map[string]any{"type": "ready", "protocol": 1, "setup_ns": time.Since(started).Nanoseconds(),
		"process_ns": processNs, "clock": clock(), "footing": state.Footing,
		"warmup_limit_ns": warmupLimit.Nanoseconds()})
	lines := bufio.NewReaderSize(os.Stdin, 1<<16)
	for {
		line, err := lines.ReadString('\n')
		if line == "" {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return Error{"internal", "cannot read a request: " + err.Error()}
		}
		reply, err := answer(state, line)
		if err != nil {
			return err
		}
		write(reply)
		if reply["type"] == "stopped" {
			return nil
		}
	}
}

func answer(state State, line string) (map[string]any, error) {
	var request struct {
		Type       string
		Iterations *uint64
		Layout     *uint64
	}
	if err := json.Unmarshal([]byte(line), &request); err != nil {
		return nil, Error{"usage", "a request that is not one of protocol 1: " + err.Error()}
	}
	switch request.Type {
	case "batch":
		if request.Iterations == nil || *request.Iterations == 0 || *request.Iterations > mostIterations {
			return nil, Error{"usage", "batch needs iterations between 1 and 2^53"}
		}
		return batch(state, *request.Iterations)
	case "allocations":
		return nil, Error{"unsupported", "Go allocates without malloc: nothing to count"}
	case "samples":
		return nil, Error{"usage", "this contender is timed in batches: ask for batch"}
	case "stop":
		return map[string]any{"type": "stopped"}, nil
	}
	return nil, Error{"usage", fmt.Sprintf("unknown request type %q", request.Type)}
}

func batch(state State, iterations uint64) (map[string]any, error) {
	var sum uint64
	before := usage()
	started := time.Now()
	for i := uint64(0); i < iterations; i++ {
		sum += state.Run()
	}
	wall := time.Since(started)
	after := usage()
	if expected := iterations * state.Expected; sum != expected {
		return nil, Error{"wrong_answer", fmt.Sprintf("the sum is %d instead of %d", sum, expected)}
	}
	answer := map[string]any{
		"type": "batch", "iterations": iterations, "units": iterations * state.Units,
		"wall_ns": wall.Nanoseconds(), "cpu_ns": after.cpuNs - before.cpuNs,
		"voluntary_switches":   after.voluntary - before.voluntary,
		"involuntary_switches": after.involuntary - before.involuntary,
		"minor_faults":         after.minorFaults - before.minorFaults,
		"major_faults":         after.majorFaults - before.majorFaults,
		"peak_bytes":           peakBytes(), "checksum": strconv.FormatUint(sum, 10),
		"counters": map[string]any{"reason": "Go programs count no hardware events"},
	}
	if state.Details != nil {
		answer["details"] = state.Details()
	}
	return answer, nil
}

func setUp(contenders []Contender, workload, name string, words []string) (State, error) {
	for _, c := range contenders {
		if c.Workload == workload && c.Name == name {
			arguments, err := parse(c.Parameters, words)
			if err != nil {
				return State{}, err
			}
			return c.SetUp(arguments)
		}
	}
	return State{}, Error{"usage", fmt.Sprintf("no contender %s %s in this program", workload, name)}
}

func parse(parameters []Parameter, words []string) (Arguments, error) {
	texts := map[string]string{}
	for _, p := range parameters {
		texts[p.Name] = p.Default
	}
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if _, known := texts[name]; !ok || !known {
			return nil, Error{"usage", fmt.Sprintf("%q is not name=value with a parameter of this contender", word)}
		}
		texts[name] = value
	}
	arguments := Arguments{}
	for _, p := range parameters {
		name, text := p.Name, texts[p.Name]
		if p.Only != "" {
			if text != p.Default {
				return nil, Error{"unsupported", fmt.Sprintf("%s=%s: %s; ask for %s=%s", name, text, p.Only, name, p.Default)}
			}
			continue
		}
		if text == "cpus" {
			text = strconv.Itoa(runtime.NumCPU())
		}
		number, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return nil, Error{"usage", fmt.Sprintf("%s=%s is not a whole number", name, text)}
		}
		arguments[name] = number
	}
	return arguments, nil
}

func errorAnswer(err error) map[string]any {
	known := Error{"internal", err.Error()}
	errors.As(err, &known)
	return map[string]any{"type": "error", "kind": known.Kind, "message": known.Message}
}

func write(message any) {
	line, err := json.Marshal(message)
	if err == nil {
		_, err = os.Stdout.Write(append(line, '\n'))
	}
	if err != nil { // nobody reads: there is no one to answer
		fmt.Fprintln(os.Stderr, "toll:", err)
		os.Exit(1)
	}
}

// By hand: every contender, or the one named, as a readable table.
func show(contenders []Contender, words []string) error {
	if len(words) > 0 && (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
		fmt.Println("PROGRAM [CONTENDER] [name=value ...] | describe | serve WORKLOAD CONTENDER [name=value ...]")
		return nil
	}
	name := ""
	if len(words) > 0 && !strings.Contains(words[0], "=") {
		name, words = words[0], words[1:]
	}
	found := false
	for _, c := range contenders {
		if name != "" && c.Name != name {
			continue
		}
		found = true
		state, err := setUp(contenders, c.Workload, c.Name, words)
		if err != nil {
			return err
		}
		for _, what := range []string{"cold", "warm", "warm"} {
			result, err := batch(state, 1)
			if err != nil {
				return err
			}
			units := float64(state.Units)
			fmt.Printf("%-24s %s %10.1f %s/%s  CPU time %10.1f  footing %v\n", c.Name, what,
				float64(result["wall_ns"].(int64))/units, c.Unit, c.Per,
				float64(result["cpu_ns"].(int64))/units, state.Footing)
		}
	}
	if !found {
		return Error{"usage", "no contender " + name + " in this program"}
	}
	return nil
}
