//go:build ignore

// Command userspace stands level3 ← level2 ← level1 ← main.main in a system call, and three goroutines in worker.
package main

import "syscall"

//go:noinline
func level3(fd int) int {
	var b [1]byte
	n, _ := syscall.Read(fd, b[:])
	return n + int(b[0])
}

//go:noinline
func level2(fd int) int { return level3(fd) + 2 }

//go:noinline
func level1(fd int) int { return level2(fd) + 1 }

//go:noinline
func worker(c chan int) { c <- <-c }

func main() {
	var ends [2]int
	if syscall.Pipe(ends[:]) != nil {
		return
	}
	for range 3 {
		go worker(make(chan int))
	}
	println(level1(ends[0]))
}
