// Goroutines that compute with labels of runtime/pprof, and know what they computed. Each works in
// units of the same length, so the units show how the time divides. The values name the goroutine,
// so that a label in the wrong place is noticed. After each unit a goroutine lets others run, and
// goes on in any thread that is free.
//
//	w0  tenant=acme: three goroutines
//	w1  tenant=globex
//	w2  none
//	w3  64 labels
//	w4  values of 1 kB
//	w5  9 to 64 labels: Go's map of labels grows
//
// It prints "ready" when all of them compute. It ends when stdin closes, and then prints the units of
// each.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync/atomic"
)

const workers = 6

var units [workers]uint64
var sink uint64

//go:noinline
func unit(worker int) {
	x := uint64(worker) + 88172645463325252
	for i := 0; i < 1500000; i++ {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	atomic.AddUint64(&sink, x)
	atomic.AddUint64(&units[worker], 1)
}

// numbered gives each key and value its goroutine, number and count.
func numbered(worker, count int) []string {
	var pairs []string
	for i := 1; i < count; i++ {
		pairs = append(pairs, fmt.Sprintf("k%02d", i), fmt.Sprintf("w%d-%d-%d", worker, i, count))
	}
	return pairs
}

func with(worker int, pairs ...string) {
	pairs = append(pairs, "worker", fmt.Sprintf("w%d", worker))
	pprof.Do(context.Background(), pprof.Labels(pairs...), func(context.Context) {
		unit(worker)
	})
	runtime.Gosched()
}

func work(worker int) {
	switch worker {
	case 0:
		with(0, "tenant", "acme")
	case 1:
		with(1, "tenant", "globex")
	case 2:
		unit(2)
		runtime.Gosched()
	case 3:
		with(3, numbered(3, 64)...)
	case 4:
		with(4, "long1", "w4-1-"+strings.Repeat("x", 1000), "long2", "w4-2-"+strings.Repeat("y", 1000), "empty", "")
	case 5:
		for count := 9; count <= 64; count++ {
			with(5, numbered(5, count)...)
		}
	}
}

func start() {
	for _, worker := range []int{0, 0, 0, 1, 2, 3, 4, 5} {
		go func(worker int) {
			for {
				work(worker)
			}
		}(worker)
	}
	for worker := 0; worker < workers; worker++ {
		for atomic.LoadUint64(&units[worker]) == 0 {
			runtime.Gosched()
		}
	}
	fmt.Println("ready")
}

func finish() {
	io.Copy(io.Discard, os.Stdin)
	truth := map[string]uint64{}
	for worker := range units {
		truth[fmt.Sprintf("w%d", worker)] = atomic.LoadUint64(&units[worker])
	}
	text, _ := json.Marshal(truth)
	fmt.Println(string(text))
}

func main() {
	runtime.GOMAXPROCS(4)
	prepare()
	runtime.GOMAXPROCS(3)
	start()
	finish()
}
