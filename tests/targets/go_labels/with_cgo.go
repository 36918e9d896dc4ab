//go:build cgo

package main

/*
// As much thread-local data as other people's code has: then Go's slot is not at its usual place.
static __thread int others[300] __attribute__((aligned(64)));
static int touch(int i) { return others[i % 300] += i; }
*/
import "C"

import "runtime"

func prepare() { C.touch(1) }

// Run is for a program of C that has loaded this as a library.
//
//export Run
func Run() {
	runtime.GOMAXPROCS(3)
	start()
	finish()
}
