package infer

import (
	"errors"
	"fmt"

	"github.com/collabui/collabui/envadapters"
	"github.com/collabui/collabui/internal/method/agents"
	"github.com/collabui/collabui/internal/method/picture"
)

// checkPicture returns an error if a request lacks what the pictures of the system's agents are made of.
func (s TrainedSystem) checkPicture(view agents.View) error {
	shown := s.Spec.Observation
	if !shown.Pictured() {
		return nil
	}
	if view.Picture.PNG == nil {
		return errors.New(`content: these agents see pictures: add a part of type "image_url" with a screenshot as PNG`)
	}
	if _, err := envadapters.DecodePNG(view.Picture.PNG); err != nil {
		return fmt.Errorf("content: %w", err)
	}
	if !shown.Marks && !s.Spec.Views.Divided() {
		return nil
	}
	for _, element := range view.Shown() {
		if element.Bounds[2] <= 0 || element.Bounds[3] <= 0 {
			return errors.New(`content: expected the "bounds" [x, y, width, height] of every element, because the ` +
				"agents' pictures are marked or cropped by them")
		}
	}

	return nil
}

// draw returns the view of a request with the pictures that the agents of a configuration see of its screenshot.
func (s TrainedSystem) draw(view agents.View, config agents.Config) (agents.View, error) {
	if !s.Spec.Observation.Pictured() {
		return view, nil
	}
	screen := view.Observation
	pictures, err := picture.Draw(view.Picture.PNG, screen, config.Dealt(screen), s.Spec.Observation)
	view.Picture = pictures.Whole
	view.Parts = pictures.Parts

	return view, err
}
