package extract_test

import "testing"

// Markup as programs write it, cut to what matters.
func TestImagesOfRealMarkup(t *testing.T) {
	t.Parallel()
	testImages(t, map[string]imageCase{
		"WordPress, lazy by a plugin": {
			`<figure id="attachment_7" class="wp-caption aligncenter" style="width: 1034px"><a href="/wp-content/uploads/2026/01/cat.jpg">
			<img decoding="async" class="lazyload size-large wp-image-7" src="data:image/svg+xml,%3Csvg%20xmlns='http://www.w3.org/2000/svg'%3E%3C/svg%3E" width="1024" height="768"
			data-lazy-src="/wp-content/uploads/2026/01/cat-1024x768.jpg" alt="A cat" data-lazy-sizes="(max-width: 1024px) 100vw, 1024px"
			data-lazy-srcset="/wp-content/uploads/2026/01/cat-1024x768.jpg 1024w, /wp-content/uploads/2026/01/cat-300x225.jpg 300w, /wp-content/uploads/2026/01/cat.jpg 1600w" />
			<noscript><img class="size-large wp-image-7" src="/wp-content/uploads/2026/01/cat-1024x768.jpg" alt="A cat" width="1024" height="768"></noscript></a>
			<figcaption class="wp-caption-text">A cat, <em>asleep</em>.</figcaption></figure>`,
			[]string{`lazy /wp-content/uploads/2026/01/cat.jpg /wp-content/uploads/2026/01/cat-1024x768.jpg /wp-content/uploads/2026/01/cat-300x225.jpg 1024x768 alt="A cat" caption="A cat, asleep."`},
		},
		"WordPress itself": {
			`<meta property="og:image" content="https://example.org/up/dog.jpg" /><meta property="og:image:width" content="2000" /><meta property="og:image:height" content="1500" />
			<figure class="wp-block-image"><img fetchpriority="high" src="/up/dog-1024x768.jpg" alt="" class="wp-image-8" srcset="/up/dog-1024x768.jpg 1024w, /up/dog-150x113.jpg 150w, /up/dog.jpg 2000w" sizes="auto"></figure>`,
			[]string{"srcset /up/dog.jpg /up/dog-1024x768.jpg /up/dog-150x113.jpg 2000x1500"},
		},
		"MediaWiki": {
			`<figure typeof="mw:File/Thumb"><a href="/wiki/File:Owl.jpg" class="mw-file-description"><img src="//upload.example.net/thumb/a/ab/Owl.jpg/250px-Owl.jpg" decoding="async" width="250" height="188" class="mw-file-element"
			srcset="//upload.example.net/thumb/a/ab/Owl.jpg/375px-Owl.jpg 1.5x, //upload.example.net/thumb/a/ab/Owl.jpg/500px-Owl.jpg 2x" /></a><figcaption>An owl in <a href="/wiki/Fin">Finland</a></figcaption></figure>
			<span typeof="mw:File"><img alt="" src="//upload.example.net/thumb/4/4a/Icon.svg/20px-Icon.svg.png" width="20" height="20"/></span><img src="/w/logo.svg">`,
			[]string{
				`srcset https://upload.example.net/thumb/a/ab/Owl.jpg/500px-Owl.jpg https://upload.example.net/thumb/a/ab/Owl.jpg/375px-Owl.jpg https://upload.example.net/thumb/a/ab/Owl.jpg/250px-Owl.jpg 250x188 caption="An owl in Finland"`,
				"img https://upload.example.net/thumb/4/4a/Icon.svg/20px-Icon.svg.png 20x20",
				"svg: 1",
			},
		},
		"phpBB": {
			`<base href=/forum/><div class="avatar-container"><a href="./memberlist.php?mode=viewprofile&amp;u=2" class="avatar"><img class="avatar" src="./download/file.php?avatar=2_1470.png" width="90" height="90" alt="User avatar" /></a></div>
			<dl class="row-item topic_read"><dd class="posticon" style="background-image: url(./images/icons/misc/fire.gif); background-repeat: no-repeat;"></dd></dl>
			<img class="smilies" src="./images/smilies/icon_e_smile.gif" width="15" height="17" alt=":)" title="Smile"><img class="smilies" src="./images/smilies/icon_e_smile.gif" width="15" height="17" alt=":)">`,
			[]string{
				`img /forum/download/file.php?avatar=2_1470.png 90x90 alt="User avatar"`, "css /forum/images/icons/misc/fire.gif",
				`img /forum/images/smilies/icon_e_smile.gif 15x17 alt=":)"`,
			},
		},
		"shop with pictures": {
			`<picture><source type="image/avif" srcset="//cdn.example.net/p/1.jpg?width=640&amp;fmt=avif 640w, //cdn.example.net/p/1.jpg?width=1280&amp;fmt=avif 1280w">
			<source type="image/webp" srcset="//cdn.example.net/p/1.jpg?width=640&amp;fmt=webp 640w, //cdn.example.net/p/1.jpg?width=1280&amp;fmt=webp 1280w">
			<img src="//cdn.example.net/p/1.jpg?width=640" alt="Blue shirt" loading="lazy" width="640" height="800"></picture>
			<img class="lazyload" data-src="//cdn.example.net/p/2_{width}x.jpg" data-widths="[180, 360, 540]" data-sizes="auto" src="//cdn.example.net/p/2_100x.jpg" alt="Red shirt"><noscript><img src="//cdn.example.net/p/2_1024x.jpg" alt="Red shirt"></noscript>`,
			[]string{
				"picture https://cdn.example.net/p/1.jpg?width=1280&fmt=webp https://cdn.example.net/p/1.jpg?width=640&fmt=webp https://cdn.example.net/p/1.jpg?width=640 " +
					"https://cdn.example.net/p/1.jpg?width=1280&fmt=avif https://cdn.example.net/p/1.jpg?width=640&fmt=avif 640x800 alt=\"Blue shirt\"",
				`img https://cdn.example.net/p/2_100x.jpg alt="Red shirt"`,
				`img https://cdn.example.net/p/2_1024x.jpg alt="Red shirt"`,
			},
		},
		"blog with a copy for those without scripts": {
			`<figure><div class="aspectRatio"><img class="blurred" src="https://img.example.net/max/60/1*ab.jpeg?q=20" width="700" height="467"><img class="lazy" width="700" height="467" data-src="https://img.example.net/max/1400/1*ab.jpeg">
			<noscript><img alt="A bridge" src="https://img.example.net/max/1400/1*ab.jpeg" width="700" height="467" srcSet="https://img.example.net/max/552/1*ab.jpeg 276w, https://img.example.net/max/1400/1*ab.jpeg 700w" sizes="700px"></noscript></div>
			<figcaption>Photo by <a href="/u">U</a></figcaption></figure>`,
			[]string{
				`img https://img.example.net/max/60/1*ab.jpeg?q=20 700x467 caption="Photo by U"`,
				`img https://img.example.net/max/1400/1*ab.jpeg https://img.example.net/max/552/1*ab.jpeg 700x467 alt="A bridge" caption="Photo by U"`,
			},
		},
		"lazysizes": {
			`<picture><source data-srcset="/500.jpg 500w, /900.jpg 900w" media="(max-width: 900px)"><source data-srcset="/1400.jpg 1400w">
			<img src="data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEKAAEALAAAAAABAAEAAAICTAEAOw==" data-src="/1024.jpg" class="lazyload" alt="art direction"></picture>`,
			[]string{`picture /1400.jpg /900.jpg /500.jpg /1024.jpg alt="art direction"`},
		},
		"lozad": {
			`<picture class="lozad" data-iesrc="/thumb.jpg" data-alt="x"><source srcset="/a.jpg" media="(min-width: 980px)"><source srcset="/b.jpg"></picture><div class="lozad" data-background-image="/c.jpg"></div>`,
			[]string{"picture /a.jpg /b.jpg", "lazy /c.jpg"},
		},
		"head of a news site": {
			`<link rel="icon" href="/favicon.ico" sizes="32x32"><link rel="icon" href="/icon.svg" type="image/svg+xml"><link rel="apple-touch-icon" href="/apple.png">
			<meta property="og:image" content="/lead.jpg?w=1200"><meta property="og:image:secure_url" content="https://example.org/lead.jpg?w=1200"><meta property="og:image:alt" content="Flood">
			<meta name="twitter:card" content="summary_large_image"><meta name="twitter:image" content="/lead.jpg?w=1200"><link rel="image_src" href="/lead.jpg?w=600">`,
			[]string{"icon /favicon.ico 32x32", "icon /apple.png", `og:image /lead.jpg?w=1200 alt="Flood"`, "image_src /lead.jpg?w=600", "svg: 1"},
		},
	})
}
