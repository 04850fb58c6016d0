package tools

import (
	"context"
	_ "embed"
	"strings"

	"deerflow/internal/agent"
	"deerflow/internal/thread"
	"deerflow/internal/tools/web"
)

//go:embed image_search.md
var imageSearchText string

// maxImages bounds the images of one search.
const maxImages = 50

const imageHint = "An image_url can be given as a reference image to a tool that makes images, or be downloaded with bash. Say where an image that you use comes from."

type imageSearchParams struct {
	Query      string `json:"query" jsonschema:"What the images show, in a few words."`
	MaxResults int    `json:"max_results,omitempty" jsonschema:"How many images you want."`
	Size       string `json:"size,omitempty" jsonschema:"Only images of this size: Small, Medium, Large or Wallpaper."`
	TypeImage  string `json:"type_image,omitempty" jsonschema:"Only images of this kind: photo, clipart, gif, transparent or line."`
	Layout     string `json:"layout,omitempty" jsonschema:"Only images of this shape: Square, Tall or Wide."`
}

// image is a result as models see it.
type image struct {
	Title        string `json:"title"`
	ImageURL     string `json:"image_url"`
	ThumbnailURL string `json:"thumbnail_url"`
	SourceURL    string `json:"source_url,omitempty"`
	Source       string `json:"source,omitempty"`
	Width        int    `json:"width,omitempty"`
	Height       int    `json:"height,omitempty"`
}

type images struct {
	Query        string  `json:"query"`
	TotalResults int     `json:"total_results"`
	Results      []image `json:"results"`
	UsageHint    string  `json:"usage_hint"`
}

func imageSearch(make func(web.Options) web.ImageSearcher, o web.Options) (Tool, error) {
	return definition[imageSearchParams]{
		name: "image_search", description: imageSearchText, class: agent.ClassRead, timeout: webTimeout,
		run: func(ctx context.Context, _ Call, p imageSearchParams) (Result, error) {
			return runImageSearch(ctx, make(o), o, p)
		},
	}.build()
}

func runImageSearch(ctx context.Context, s web.ImageSearcher, o web.Options, p imageSearchParams) (Result, error) {
	query := strings.TrimSpace(p.Query)
	if query == "" {
		return failure("Invalid arguments for image_search: argument \"query\" must not be empty"), nil
	}
	found, err := s.SearchImages(ctx, web.ImageQuery{
		Text: query, Max: p.MaxResults, Size: choice(p.Size, "Small", "Medium", "Large", "Wallpaper"),
		Type: choice(p.TypeImage, "photo", "clipart", "gif", "transparent", "line"), Layout: choice(p.Layout, "Square", "Tall", "Wide"),
	})
	if err != nil {
		return searchFailed(ctx, o, query, err)
	}
	var shown []image
	for _, i := range found {
		if i.ImageURL == "" && i.ThumbnailURL == "" || len(shown) == maxImages {
			continue
		}
		shown = append(shown, image{
			Title: thread.Shorten(strings.TrimSpace(i.Title), maxHitTitle), ImageURL: pageURL(i.ImageURL), ThumbnailURL: pageURL(i.ThumbnailURL),
			SourceURL: pageURL(i.SourceURL), Source: thread.Shorten(i.Source, 100), Width: i.Width, Height: i.Height,
		})
	}
	if len(shown) == 0 {
		return searchFailed(ctx, o, query, web.NoImages())
	}
	return text(readableJSON(images{query, len(shown), shown, imageHint})), nil
}

// choice is the one of several words that was meant, "" for none.
func choice(asked string, words ...string) string {
	for _, word := range words {
		if strings.EqualFold(strings.TrimSpace(asked), word) {
			return word
		}
	}
	return ""
}
