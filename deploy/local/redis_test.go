package main

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func TestRedisExpiresKeysInRealTime(t *testing.T) {
	t.Parallel()

	const ttl = 300 * time.Millisecond
	c := redis.NewClient(&redis.Options{Addr: launch(t, "redis").addr})
	defer func() { _ = c.Close() }()
	take := func(owner string) bool {
		got, err := c.SetNX(t.Context(), "lease", owner, ttl).Result()
		if err != nil {
			t.Fatal(err)
		}
		return got
	}

	begin := time.Now()
	if !take("first") {
		t.Fatal("the first owner did not get the lease, want it to")
	}

	if take("second") {
		t.Fatal("two owners got the lease, want one")
	}

	for !take("second") {
		if time.Since(begin) > 10*ttl {
			t.Fatalf("the lease is still held after %v, want its end after %v", 10*ttl, ttl)
		}
	}

	if early := ttl - time.Since(begin); early > clockTick {
		t.Fatalf("the lease expired %v early, want at most %v", early, clockTick)
	}
}
