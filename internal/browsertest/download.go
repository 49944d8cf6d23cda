package browsertest

import (
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Download returns the name and the text of the file that the browser saves while act runs, or soon afterwards.
func (p *Page) Download(act func()) (name, text string) {
	p.tb.Helper()
	folder := p.tb.TempDir()
	shown, err := chromedp.Call(p.ctx, target.GetTargetInfo, target.GetTargetInfoParams{})
	p.must(err)
	_, err = chromedp.Call(p.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, BrowserContextID: shown.TargetInfo.BrowserContextID,
		DownloadPath: folder,
	})
	p.must(err)
	act()
	p.poll("a download", func() bool {
		// The browser first writes to a file of another name, and renames it at the end.
		files, err := os.ReadDir(folder)
		if err != nil || len(files) != 1 || filepath.Ext(files[0].Name()) == ".crdownload" {
			return false
		}
		name = files[0].Name()
		saved, err := os.ReadFile(filepath.Join(folder, name))
		text = string(saved)
		return err == nil && text != ""
	})
	return name, text
}
