//go:build cgo

package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>

// Other libraries may have this much thread-local data; then Go's slot is not at its usual place.
static __thread int others[300] __attribute__((aligned(64)));
static int touch(int i) { return others[i % 300] += i; }

static void (*set_everything)(int);
static int load(const char* path) {
	void* library = dlopen(path, RTLD_NOW);
	if (library != NULL) set_everything = (void (*)(int))dlsym(library, "set_everything");
	return set_everything != NULL;
}
static void call(int part) { set_everything(part); }
*/
import "C"

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"sync/atomic"
	"syscall"
)

func prepare() {
	C.touch(1)
	if library := os.Getenv("C_PUBLISHERS"); library != "" {
		beside(library)
		os.Exit(0)
	}
}

// beside computes in three goroutines that keep their threads. A library of C publishes for these
// threads, too: parts 1 to 3.
func beside(library string) {
	if C.load(C.CString(library)) == 0 {
		os.Exit(2)
	}
	for part := 1; part <= 3; part++ {
		started := make(chan bool)
		go func(part int) {
			runtime.LockOSThread()
			C.call(C.int(part))
			fmt.Printf("{\"tid\":%d,\"part\":%d}\n", syscall.Gettid(), part)
			pprof.Do(context.Background(), pprof.Labels("goroutine", fmt.Sprintf("go-%d", part)), func(context.Context) {
				started <- true
				for {
					atomic.AddUint64(&sink, 1)
				}
			})
		}(part)
		<-started
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
}

// Run is for a program of C that has loaded this as a library.
//
//export Run
func Run() {
	runtime.GOMAXPROCS(3)
	start()
	finish()
}
