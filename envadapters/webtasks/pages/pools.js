'use strict';
// Words by split: train and val and the tests share no word, so that a policy must read rather than remember. All test splits share one pool.
const pools = (() => {
  const raw = {
    first: 'Ada Ben Cleo Dina Emil Fay Gus Hana Ivo June Kai Lena Milo Nora Otto Pia Quin Rosa Sven Tara Umar Vera Wim Xena Yuri Zoe Alma Bruno Clara Diego Elsa Finn Greta Hugo Iris Jonas Kira Leo Maya Nils Olga Paul Rita Sami Tess Ulla Viktor Wanda Yara Zeno Arlo Bella Cora Dario Edda Felix Gina Henry Ines Jana',
    last: 'Adler Baker Cruz Duran Ebert Frost Grant Hale Ibsen Joyce Keller Lang Mora Nash Olsen Price Quist Ruiz Stone Tully Urban Vance Weber Yates Zidan Abbot Blake Carver Drake Ellis Foley Garner Hobbs Irwin Jarvis Knight Lowe Mercer Norton Orwell Pryor Rowe Sharp Tyson Usher Vogel Wolfe York Zeller Barton',
    thing: 'lamp chair rope kettle mirror basket candle drum pillow ladder hammer bottle carpet shovel violin helmet wagon anchor button ribbon compass lantern saddle teapot whistle blanket bucket paddle scissors trumpet umbrella wallet zipper apron brush cradle dagger easel flute goblet harp inkwell jug kite locket magnet needle organ pencil quilt racket spoon tripod urn vase wrench yarn abacus bellows cymbal',
    topic: 'budget harvest journey weather garden music science travel history cooking painting sailing physics poetry cinema hockey chess fishing camping pottery fashion banking farming hiking rowing skating biology algebra grammar opera ballet cycling surfing knitting baking mining gliding dancing archery rugby tennis judo karate yoga pilates origami magic juggling astronomy geology robotics logic ethics anatomy botany zoology',
    place: 'Oslo Lima Cairo Quito Riga Bonn Turin Porto Lyon Malmo Kyoto Perth Hanoi Accra Dakar Tunis Minsk Sofia Delhi Seoul Osaka Lagos Miami Boston Austin Denver Tampa Leeds Derby Bath Ghent Liege Basel Zurich Graz Linz Brno Gdansk Lodz Split Zadar Varna Patras Izmir Haifa Amman Doha Muscat Pune Goa',
    label: 'Alpha Bravo Cobalt Delta Ember Falcon Granite Harbor Indigo Jasper Krypton Lotus Marble Nectar Onyx Pepper Quartz Raven Saffron Tango Umber Velvet Willow Xenon Yellow Zebra Amber Bronze Copper Denim Echo Flint Ginger Hazel Ivory Jade Kelp Lilac Maple Nickel Olive Pearl Quill Ruby Sable Topaz Ultra Violet Walnut Zinc Azure Birch Coral Daisy Fern Gold Heather Iron Juniper Lemon',
    setting: 'Bluetooth Wifi Roaming Hotspot Location Vibration Captions Magnifier Autofill Backup Encryption Firewall Screensaver Nightlight Darkmode Autobrightness Keytones Touchsounds Doorbell Subtitles Mirroring Printing Sharing Tethering Telemetry Reminders Highlights Previews Badges Gestures Widgets Shortcuts Dictation Translation Zoom Contrast Grayscale Rotation Haptics Powersave Standby Wakeword Geotags Cookies Popups Javascript Cache Sync Updates Beta Feedback Spellcheck Autocorrect Swipekeys',
    section: 'Network Display Sound Privacy Battery Storage Security Accessibility Language Accounts Wallpaper Keyboard Camera Calls Messages Browser Maps Gallery Clock Assistant Launcher Themes Lockscreen Notifications Parental Developer',
    code: 'K42 B17 Z90 M33 T58 R21 W76 H64 P85 D19 C47 F92 G38 J51 L26 N73 Q14 S69 V80 X35 Y57 A91 E28 U46 K77 B63 Z12 M88 T29 R54 W31 H95 P20 D67 C86 F43 G59 J72 L18 N34',
  };
  const out = {};
  for (const split of ['train', 'val', 'test-seeds', 'test-templates', 'test-apps']) {
    out[split] = {};
    // Of every ten words six are for train, two for val, two for the tests.
    for (const [k, v] of Object.entries(raw)) out[split][k] = v.split(' ').filter((_, i) => ({ train: i % 10 < 6, val: i % 10 === 6 || i % 10 === 7 }[split] ?? i % 10 > 7));
  }
  return out;
})();
// madeUp returns pools whose words are the first half of one and the second half of another, drawn with the dice.
function madeUp(W, r) {
  const join = (a, b) => a.slice(0, a.length >> 1) + b.slice(b.length >> 1);
  return Object.fromEntries(Object.entries(W).map(([k, v]) => [k, [...new Set(v.map(a => join(a, r.pick(v))))]]));
}
