package main

import (
	"context"
	"flag"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// clockTick is the resolution of times to live. The server's own clock is stopped unless it is driven.
const clockTick = 50 * time.Millisecond

// redisService is an in-memory Redis. It keeps nothing across restarts, and
// nothing that matters may be stored in it.
type redisService struct {
	addr   string
	server *miniredis.Miniredis
}

func (s *redisService) flags(*flag.FlagSet, *options) {}

func (s *redisService) prepare(o options) ([]string, error) {
	s.addr = o.addr
	s.server = miniredis.NewMiniRedis()
	return []string{o.addr}, nil
}

func (s *redisService) start(ctx context.Context, _ func(error)) error {
	if err := s.server.StartAddr(s.addr); err != nil {
		return err
	}

	go s.driveClock(ctx)
	return nil
}

// driveClock advances the clock by the time that really passed, so that a late tick loses none.
func (s *redisService) driveClock(ctx context.Context) {
	tick := time.NewTicker(clockTick)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			now := time.Now()
			s.server.FastForward(now.Sub(last))
			last = now
		}
	}
}

func (s *redisService) stop() { s.server.Close() }
