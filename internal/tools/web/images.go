package web

// picture is one size of an image as a provider gives it.
type picture struct {
	address       Text
	width, height Number
}

// foundImages gathers images of which somebody may load at least one size.
type foundImages struct {
	kept    []Image
	dropped bool
}

// add fills in the addresses and the size of an image. Where a provider gives only
// one of the two pictures, that one stands for both. An address that
// [SafeImageURL] refuses was given: nothing takes its place.
func (f *foundImages) add(image Image, full, small picture) {
	if full.address.String() == "" {
		full = small
	}
	if small.address.String() == "" {
		small = full
	}
	image.ImageURL, image.ThumbnailURL = SafeImageURL(full.address.String()), SafeImageURL(small.address.String())
	if image.ImageURL == "" && image.ThumbnailURL == "" {
		f.dropped = f.dropped || full.address.String() != ""
		return
	}
	if image.ImageURL != "" {
		image.Width, image.Height = int(full.width), int(full.height)
	}
	image.SourceURL = SafeImageURL(image.SourceURL)
	f.kept = append(f.kept, image)
}

// first are the first images that were kept. It is an error if none of those that
// a provider found could be.
func (f *foundImages) first(count int) ([]Image, error) {
	if len(f.kept) == 0 && f.dropped {
		return nil, failed(KindNoContent, "No safe image URLs found")
	}
	return f.kept[:min(count, len(f.kept))], nil
}
