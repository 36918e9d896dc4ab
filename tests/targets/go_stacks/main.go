// A program whose stacks are known. clear() allocates: the allocator then calls
// runtime.memclrNoHeapPointers, which has no frame. hash() runs assembly that has no frame pointer.
// The program prints "ready", and then does both in turn, until stdin closes.
package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

var sink []byte
var sum [sha256.Size]byte

//go:noinline
func clear() {
	for i := 0; i < 200; i++ {
		sink = make([]byte, 32768)
	}
}

//go:noinline
func hash(text []byte) {
	sum = sha256.Sum256(text)
}

func main() {
	var ended int32
	go func() {
		io.Copy(io.Discard, os.Stdin)
		atomic.StoreInt32(&ended, 1)
	}()
	fmt.Println("ready")
	text := make([]byte, 1<<20)
	for atomic.LoadInt32(&ended) == 0 {
		clear()
		hash(text)
	}
}
