// Two goroutines compute with labels of runtime/pprof, each in a thread of its own. Each prints its
// labels.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"syscall"
)

func main() {
	var stop int32
	var begun, ended sync.WaitGroup
	var lock sync.Mutex
	for _, tenant := range []string{"acme", "globex"} {
		tenant := tenant
		begun.Add(1)
		ended.Add(1)
		go func() {
			defer ended.Done()
			runtime.LockOSThread()
			labels := pprof.Labels("tenant", tenant, "http.route", "/"+tenant)
			pprof.Do(context.Background(), labels, func(context.Context) {
				lock.Lock()
				fmt.Printf("{\"tid\":%d,\"labels\":{\"tenant\":%q,\"http.route\":%q}}\n", syscall.Gettid(), tenant, "/"+tenant)
				lock.Unlock()
				begun.Done()
				for atomic.LoadInt32(&stop) == 0 {
				}
			})
		}()
	}
	begun.Wait()
	fmt.Println("ready")
	io.ReadAll(os.Stdin)
	atomic.StoreInt32(&stop, 1)
	ended.Wait()
}
