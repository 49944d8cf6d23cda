// Prints mail/zonenames.txt: the long English name of each zone of zones.txt for each of its offsets, as the CLDR data
// of the Node.js that runs it has them. A zone without a name of its own, such as Africa/Casablanca, is left out.
//
//	node .ci/zones/names.js zones.txt > mail/zonenames.txt
const zones = require("fs").readFileSync(process.argv[2], "utf8").trim().split("\n");
const day = 24 * 3600 * 1000;
const part = (zone, style, at) =>
  new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: style }).formatToParts(at)
    .find((p) => p.type === "timeZoneName").value;

console.log(`# The long English names of time zones for each offset, from CLDR ${process.versions.cldr} by way of Node.js.`);
console.log("# node .ci/zones/names.js zones.txt > mail/zonenames.txt writes this file.");
console.log("# Copyright (c) 1991-2025 Unicode, Inc. Unicode License V3, https://www.unicode.org/license.txt");
for (const zone of zones) {
  let offsets;
  try {
    offsets = new Intl.DateTimeFormat("en", { timeZone: zone, timeZoneName: "longOffset" });
  } catch {
    continue; // It is no zone to Node.js, such as Factory.
  }
  const names = new Map();
  for (let at = Date.UTC(2026, 0, 1); at < Date.UTC(2037, 0, 1); at += 5 * day) {
    const offset = offsets.formatToParts(at).find((p) => p.type === "timeZoneName").value.slice(3) || "+00:00";
    if (!names.has(offset)) names.set(offset, part(zone, "long", at));
  }
  const named = [...names].filter(([, name]) => !/^GMT([+-]|$)/.test(name)).sort();
  if (named.length > 0) console.log([zone, ...named.map(([offset, name]) => `${offset} ${name}`)].join("\t"));
}
