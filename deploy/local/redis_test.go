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
	if !take("first") || take("second") {
		t.Fatal("the lease was not exclusive")
	}
	for !take("second") {
		if time.Since(begin) > 10*ttl {
			t.Fatal("the lease never expired")
		}
	}
	if early := ttl - time.Since(begin); early > clockTick {
		t.Fatalf("the lease expired %v early", early)
	}
}
