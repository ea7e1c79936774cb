// SPDX-License-Identifier: Apache-2.0

// The workloads in Go: an actor is a goroutine and the channel that it reads.
//
//	workloads WORKLOAD --workers N [--actors N] [--messages N] [--limit N] [--batch N]
//
// It prints one line: `METRIC UNIT VALUE`.
//
// A channel has space for all messages that can wait in it: one token in pingpong and ring, both
// balls of a pair, every ball for the wall, one message for an actor that gets one. So no send
// blocks. This prevents a deadlock of two actors that send to each other, and saves switches. A
// player of the wall could in theory get all balls. It has space for 8, which almost always
// suffices. The wall may block on a send to a player, because a player never blocks on a send to
// the wall.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// batch: actors that the collector of spawn starts before it yields
type sizes struct{ workers, actors, messages, limit, batch int }

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

// Ends the goroutines that read these channels. No message to them is on its way any more.
func end[T any](players []chan T) {
	for _, each := range players {
		close(each)
	}
}

func play(s sizes, ballsPerPair int) float64 {
	balls := s.actors / 2 * ballsPerPair
	hops := s.messages / balls
	var done sync.WaitGroup
	done.Add(balls)
	players := make([]chan uint64, s.actors/2*2)
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
	rate := float64(hops*balls) / time.Since(began).Seconds()
	end(players)
	return rate
}

func pingpong(s sizes) float64 { return play(s, 1) }
func pairs(s sizes) float64    { return play(s, 2) }

func ring(s sizes) float64 {
	var done sync.WaitGroup
	done.Add(1)
	players := make([]chan uint64, s.actors)
	for i := range players {
		players[i] = make(chan uint64, 1)
	}
	for i := range players {
		go player(players[i], players[(i+1)%len(players)], &done)
	}
	began := time.Now()
	players[0] <- uint64(s.messages)
	done.Wait()
	rate := float64(s.messages) / time.Since(began).Seconds()
	end(players)
	return rate
}

// ── ask ─────────────────────────────────────────────────────────────────────────────────────────

type asked struct {
	value  uint64
	answer chan uint64
}

func teller(questions <-chan asked) {
	for q := range questions {
		q.answer <- q.value + 1
	}
}

// One request at a time, without a time-out, and always with the same channel for the reply.
func ask(s sizes) float64 {
	questions := make(chan asked, 1)
	go teller(questions)
	done := make(chan uint64)
	began := time.Now()
	go func() {
		answer := make(chan uint64, 1)
		value := uint64(0)
		for i := 0; i < s.messages; i++ {
			questions <- asked{value, answer}
			value = <-answer
		}
		done <- value
	}()
	if <-done != uint64(s.messages) {
		panic("an answer was wrong")
	}
	rate := float64(s.messages) / time.Since(began).Seconds()
	close(questions)
	return rate
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
			return // no send blocks: the channel has space for all balls
		}
		random ^= random << 13
		random ^= random >> 7
		random ^= random << 17
		players[random%uint64(len(players))] <- hit{}
	}
}

func wallOfPlayers(s sizes) float64 {
	var done sync.WaitGroup
	done.Add(1)
	players := make([]chan hit, s.actors)
	middle := make(chan hit, len(players))
	for i := range players {
		players[i] = make(chan hit, 8)
		go wallPlayer(players[i], middle)
	}
	go wall(middle, players, s.messages/2, &done)
	began := time.Now()
	for _, each := range players {
		each <- hit{}
	}
	done.Wait()
	rate := float64(s.messages) / time.Since(began).Seconds()
	end(players)
	return rate
}

// ── fanin ───────────────────────────────────────────────────────────────────────────────────────

type item struct{ producer, number uint64 }

func producer(to chan<- item, producer uint64, count int) {
	for i := 0; i < count; i++ {
		to <- item{producer, uint64(i)}
	}
}

func consumer(items <-chan item, count int, sum *uint64, done *sync.WaitGroup) {
	for i := 0; i < count; i++ {
		*sum += (<-items).number
	}
	done.Done()
}

// A channel is always bounded.
func fanin(s sizes) float64 {
	if s.limit == 0 {
		fmt.Fprintln(os.Stderr, "a channel has a limit")
		os.Exit(1)
	}
	each := s.messages / s.actors
	var done sync.WaitGroup
	done.Add(1)
	sum := uint64(0)
	items := make(chan item, s.limit)
	go consumer(items, each*s.actors, &sum, &done)
	began := time.Now()
	for i := 0; i < s.actors; i++ {
		go producer(items, uint64(i), each)
	}
	done.Wait()
	rate := float64(each*s.actors) / time.Since(began).Seconds()
	if sum != uint64(s.actors)*uint64(each)*uint64(each-1)/2 {
		panic("a message was lost")
	}
	return rate
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

// The collector's channel has space for every reply: it reads only after it has started all actors.
func collector(answers chan uint64, count, batch int, done *sync.WaitGroup) {
	for i := 0; i < count; i++ {
		questions := make(chan question, 1)
		go shortLived(questions)
		questions <- question{answers, uint64(i)}
		if i%batch == batch-1 {
			runtime.Gosched()
		}
	}
	sum := uint64(0)
	for i := 0; i < count; i++ {
		sum += <-answers
	}
	if sum != uint64(count)*uint64(count-1)/2 {
		panic("a reply is wrong")
	}
	done.Done()
}

func spawn(s sizes) float64 {
	var done sync.WaitGroup
	done.Add(1)
	began := time.Now()
	go collector(make(chan uint64, s.actors), s.actors, s.batch, &done)
	done.Wait()
	return float64(s.actors) / time.Since(began).Seconds()
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

func idle(s sizes) float64 {
	var started sync.WaitGroup
	started.Add(s.actors)
	before := rssBytes()
	all := make([]chan uint64, s.actors)
	for i := range all {
		all[i] = make(chan uint64, 1)
		go idler(all[i], &started)
	}
	started.Wait() // it is idle when it waits for a message
	after := rssBytes()
	runtime.KeepAlive(all)
	return float64(after-before) / float64(s.actors)
}

// ── The program ─────────────────────────────────────────────────────────────────────────────────

func rssBytes() int64 {
	var total, resident int64
	text, _ := os.ReadFile("/proc/self/statm")
	fmt.Sscan(string(text), &total, &resident)
	return resident * int64(os.Getpagesize())
}

var workloads = map[string]func(sizes) float64{
	"pingpong": pingpong, "ask": ask, "pairs": pairs, "wall": wallOfPlayers, "ring": ring,
	"fanin": fanin, "spawn": spawn, "idle": idle,
}

func usage() {
	fmt.Fprintln(os.Stderr,
		"usage: workloads WORKLOAD --workers N [--actors N] [--messages N] [--limit N] "+
			"[--batch N]")
	os.Exit(2)
}

func main() {
	s := sizes{batch: 64}
	options := map[string]*int{
		"--workers": &s.workers, "--actors": &s.actors,
		"--messages": &s.messages, "--limit": &s.limit, "--batch": &s.batch,
	}
	if len(os.Args) < 2 || len(os.Args)%2 != 0 || workloads[os.Args[1]] == nil {
		usage()
	}
	name := os.Args[1]
	for i := 2; i < len(os.Args); i += 2 {
		n, err := strconv.ParseUint(os.Args[i+1], 10, 32)
		if err != nil || options[os.Args[i]] == nil {
			usage()
		}
		*options[os.Args[i]] = int(n)
	}
	if s.workers == 0 {
		usage()
	}
	runtime.GOMAXPROCS(s.workers)
	if name != "idle" { // the second run is measured
		workloads[name](s)
		runtime.GC() // the garbage of the first run is not part of it
	}
	value := workloads[name](s)
	switch name {
	case "idle":
		fmt.Printf("bytes_per_actor bytes %f\n", value)
	case "spawn":
		fmt.Printf("rate actors/s %f\n", value)
	default:
		fmt.Printf("rate messages/s %f\n", value)
	}
}
