// SPDX-License-Identifier: Apache-2.0

// The workloads of src/actor/workloads_bench.cpp in Go: an actor is a goroutine and the channel
// that it reads.
//
//	workloads WORKLOAD [--smoke] [--workers N]
//
// One line: name, million messages (actors) a second, peak resident memory in kB; for idle the
// bytes that one actor with one channel to it costs instead of a rate.
//
// A channel has room for what can wait in it: one token in pingpong and ring, both balls of a pair,
// every ball for the wall, one message for an actor that gets one. So nobody blocks in a send,
// which keeps two actors that send to each other from deadlocking, and saves switches. A player of
// the wall could in theory get all balls; it has room for 8, which is almost never too little, and
// the wall may wait for it, because it never waits for the wall.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// What all sizes are divided by; 100 with --smoke.
var divideBy = 1

// ── pingpong, pairs, ring ───────────────────────────────────────────────────────────────────────

func player(balls <-chan uint64, other chan<- uint64, done *sync.WaitGroup) {
	for left := range balls {
		if left == 0 {
			done.Done()
		} else {
			other <- left - 1
		}
	}
}

func play(pairs, ballsPerPair, messages int) float64 {
	hops := messages / (pairs * ballsPerPair)
	var done sync.WaitGroup
	done.Add(pairs * ballsPerPair)
	players := make([]chan uint64, 2*pairs)
	for i := range players {
		players[i] = make(chan uint64, ballsPerPair)
	}
	for i := range players {
		go player(players[i], players[i^1], &done)
	}
	began := time.Now()
	for i := 0; i < len(players); i += 2 {
		for k := 0; k < ballsPerPair; k++ {
			players[i+k] <- uint64(hops)
		}
	}
	done.Wait()
	return float64(hops*pairs*ballsPerPair) / time.Since(began).Seconds()
}

func pingpong() float64 { return play(1, 1, 4_000_000/divideBy) }
func pairs() float64    { return play(25_000/divideBy, 2, 10_000_000/divideBy) }

func ring() float64 {
	hops := 10_000_000 / divideBy
	var done sync.WaitGroup
	done.Add(1)
	players := make([]chan uint64, 10_000/divideBy)
	for i := range players {
		players[i] = make(chan uint64, 1)
	}
	for i := range players {
		go player(players[i], players[(i+1)%len(players)], &done)
	}
	began := time.Now()
	players[0] <- uint64(hops)
	done.Wait()
	return float64(hops) / time.Since(began).Seconds()
}

// ── wall ────────────────────────────────────────────────────────────────────────────────────────

type hit struct{}

func wallPlayer(hits <-chan hit, wall chan<- hit) {
	for range hits {
		wall <- hit{}
	}
}

func wall(hits <-chan hit, players []chan hit, left int, done *sync.WaitGroup) {
	random := uint64(88172645463325252)
	for range hits {
		left--
		if left == 0 {
			done.Done()
			return // nobody blocks: the channel has room for all balls
		}
		random ^= random << 13
		random ^= random >> 7
		random ^= random << 17
		players[random%uint64(len(players))] <- hit{}
	}
}

func wallOfPlayers() float64 {
	messages := 10_000_000 / divideBy
	var done sync.WaitGroup
	done.Add(1)
	players := make([]chan hit, 50_000/divideBy)
	middle := make(chan hit, len(players))
	for i := range players {
		players[i] = make(chan hit, 8)
		go wallPlayer(players[i], middle)
	}
	go wall(middle, players, messages/2, &done)
	began := time.Now()
	for _, each := range players {
		each <- hit{}
	}
	done.Wait()
	return float64(messages) / time.Since(began).Seconds()
}

// ── spawn ───────────────────────────────────────────────────────────────────────────────────────

type question struct {
	to    chan<- uint64
	value uint64
}

func shortLived(questions <-chan question) {
	q := <-questions
	q.to <- q.value
}

// The collector's channel has room for every answer: it reads only after it has started all.
func collector(answers chan uint64, count int, done *sync.WaitGroup) {
	for i := 0; i < count; i++ {
		questions := make(chan question, 1)
		go shortLived(questions)
		questions <- question{answers, uint64(i)}
	}
	sum := uint64(0)
	for i := 0; i < count; i++ {
		sum += <-answers
	}
	if sum != uint64(count)*uint64(count-1)/2 {
		panic("an answer is wrong")
	}
	done.Done()
}

func spawn() float64 {
	count := 1_000_000 / divideBy
	var done sync.WaitGroup
	done.Add(1)
	began := time.Now()
	go collector(make(chan uint64, count), count, &done)
	done.Wait()
	return float64(count) / time.Since(began).Seconds()
}

// ── idle ────────────────────────────────────────────────────────────────────────────────────────

func idler(answers <-chan uint64, started *sync.WaitGroup) {
	var state [2]uint64
	started.Done()
	for answer := range answers {
		state[0] += answer
	}
	runtime.KeepAlive(&state)
}

func idle() float64 {
	count := 1_000_000 / divideBy
	var started sync.WaitGroup
	started.Add(count)
	before := rssBytes()
	all := make([]chan uint64, count)
	for i := range all {
		all[i] = make(chan uint64, 1)
		go idler(all[i], &started)
	}
	started.Wait() // it is idle when it waits for a message
	after := rssBytes()
	runtime.KeepAlive(all)
	return float64(after-before) / float64(count)
}

// ── The program ─────────────────────────────────────────────────────────────────────────────────

func rssBytes() int64 {
	var total, resident int64
	text, _ := os.ReadFile("/proc/self/statm")
	fmt.Sscan(string(text), &total, &resident)
	return resident * int64(os.Getpagesize())
}

func peakRSSKB() int64 {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Maxrss
}

var workloads = map[string]func() float64{
	"pingpong": pingpong, "pairs": pairs, "wall": wallOfPlayers,
	"ring": ring, "spawn": spawn, "idle": idle,
}

func usage() {
	fmt.Fprintln(os.Stderr,
		"usage: workloads pingpong|pairs|wall|ring|spawn|idle [--smoke] [--workers 1..1024]")
	os.Exit(2)
}

func main() {
	name, workers := "", 2
	for i := 1; i < len(os.Args); i++ {
		switch argument := os.Args[i]; {
		case argument == "--smoke":
			divideBy = 100
		case argument == "--workers" && i+1 < len(os.Args):
			i++
			n, err := strconv.ParseUint(os.Args[i], 10, 32)
			if err != nil || n < 1 || n > 1024 {
				usage()
			}
			workers = int(n)
		case workloads[argument] != nil && name == "":
			name = argument
		default:
			usage()
		}
	}
	if name == "" {
		usage()
	}
	runtime.GOMAXPROCS(workers)
	value := workloads[name]()
	if name != "idle" {
		value /= 1e6
	}
	fmt.Printf("%s %.2f %d\n", name, value, peakRSSKB())
}
