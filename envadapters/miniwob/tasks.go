package miniwob

import "strings"

// Splits in addition to the standard ones. The split all contains every page of the folder miniwob/. All 130 pages of
// the package open, reset and can be observed, including the ones whose goal needs a drag or haste.
const (
	SplitAll      = "all"
	SplitMobile62 = "mobile-62" // AndroidWorld's subset as it takes effect: 64 names, two of which are in no registry
	SplitMobile92 = "mobile-92" // AndroidWorld's registry
)

// mobile92 are the names in AndroidWorld's MiniWoB registry.
var mobile92 = strings.Fields(`
bisect-angle book-flight choose-date choose-date-easy choose-date-medium choose-list circle-center click-button
click-button-sequence click-checkboxes click-checkboxes-large click-checkboxes-soft click-checkboxes-transfer
click-collapsible click-collapsible-2 click-color click-dialog click-dialog-2 click-link click-menu-2 click-option
click-pie click-scroll-list click-shades click-shape click-tab click-tab-2 click-tab-2-easy click-tab-2-hard
click-tab-2-medium click-test click-test-2 click-test-transfer click-widget copy-paste copy-paste-2 count-shape
count-sides drag-box drag-item email-inbox email-inbox-delete email-inbox-forward email-inbox-forward-nl
email-inbox-forward-nl-turk email-inbox-important email-inbox-nl-turk email-inbox-noscroll email-inbox-reply
email-inbox-star-reply enter-date enter-password enter-text enter-text-2 enter-text-dynamic enter-time find-midpoint
find-word focus-text focus-text-2 grid-coordinate guess-number highlight-text highlight-text-2 identify-shape
login-user login-user-popup multi-layouts multi-orderings navigate-tree read-table read-table-2 resize-textarea
right-angle scroll-text scroll-text-2 search-engine simon-says simple-algebra simple-arithmetic social-media
social-media-all social-media-some terminal text-transform tic-tac-toe unicode-test use-autocomplete use-colorwheel
use-colorwheel-2 use-slider visual-addition`)

// mobile62 are the names of mobile92 that are also in AndroidWorld's subset.
var mobile62 = strings.Fields(`
book-flight choose-date choose-list click-button click-button-sequence click-checkboxes click-checkboxes-large
click-checkboxes-soft click-checkboxes-transfer click-collapsible click-collapsible-2 click-color click-dialog
click-dialog-2 click-link click-option click-pie click-scroll-list click-shades click-shape click-tab click-tab-2
click-tab-2-hard click-test click-test-2 click-widget copy-paste copy-paste-2 count-shape email-inbox
email-inbox-forward-nl email-inbox-forward-nl-turk email-inbox-nl-turk enter-date enter-password enter-text
enter-text-dynamic enter-time find-word focus-text focus-text-2 grid-coordinate guess-number identify-shape login-user
login-user-popup multi-layouts multi-orderings navigate-tree read-table search-engine simple-algebra simple-arithmetic
social-media social-media-all social-media-some terminal text-transform tic-tac-toe unicode-test use-autocomplete
use-slider`)
