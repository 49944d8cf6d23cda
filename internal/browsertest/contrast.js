(() => {
	const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true })
	const kept = (map, key, make) => map.get(key) ?? map.set(key, make()).get(key)
	const colours = new Map(), grounds = new Map()
	const colour = text => kept(colours, text, () => {
		canvas.clearRect(0, 0, 1, 1)
		canvas.fillStyle = text
		canvas.fillRect(0, 0, 1, 1)
		return [...canvas.getImageData(0, 0, 1, 1).data]
	})
	const over = (top, under) => [0, 1, 2].map(i => top[i] * top[3] / 255 + under[i] * (1 - top[3] / 255))
	const behind = e => e === null ? colour("Canvas") :
		kept(grounds, e, () => over(colour(getComputedStyle(e).backgroundColor), behind(e.parentElement)))
	const light = c => [0.2126, 0.7152, 0.0722].reduce((sum, share, i) =>
		sum + share * (c[i] <= 10 ? c[i] / 255 / 12.92 : ((c[i] / 255 + 0.055) / 1.055) ** 2.4), 0)
	const faint = new Set()
	const check = (e, text) => {
		if (text.trim() === "" || !e.checkVisibility({ visibilityProperty: true })) return
		if (e.matches("script, noscript, style, option, :disabled, [type=checkbox], [type=radio]")) return
		const style = getComputedStyle(e), ground = behind(e), ink = over(colour(style.color), ground)
		const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x)
		const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700)
		const ratio = (a + 0.05) / (b + 0.05)
		if (ratio < (large ? 3 : 4.5)) {
			faint.add(e.tagName + "." + e.className + " in " + e.parentElement.className + ": " + ratio.toFixed(2) + " " +
				style.color + " on " + ground.map(Math.round) + " " + text.slice(0, 20))
		}
	}
	for (const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT); walk.nextNode();) {
		check(walk.currentNode.parentElement, walk.currentNode.data)
	}
	for (const field of document.querySelectorAll("input, select")) check(field, field.value)
	return [...faint].join("\n")
})()
