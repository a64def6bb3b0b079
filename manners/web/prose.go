package web

import (
	"html"
	"strings"
)

// The length of a page of prose, in words.
const (
	minProseWords  = 300
	maxProseWords  = 900
	proseParagraph = 60
)

// prose is running text in one language: natural sentences, and words made of parts of theirs, so
// that pages differ as those of real sites do.
type prose struct {
	tag       string
	sentences []string
	words     []string
}

// proses are the languages of Options.Prose; each site uses one of them.
var proses = func() []prose {
	list := make([]prose, 0, len(proseTexts))
	for _, t := range proseTexts {
		p := prose{tag: t.tag, sentences: strings.Split(t.text, "\n")}
		seen := map[string]bool{}
		for word := range strings.FieldsSeq(t.text) {
			word = strings.ToLower(strings.Trim(word, ".,:;"))
			if len([]rune(word)) > 3 && !seen[word] {
				seen[word] = true
				p.words = append(p.words, word)
			}
		}
		list = append(list, p)
	}
	return list
}()

// append writes paragraphs of 300 to 900 words.
func (p prose) append(b []byte, random splitmix) []byte {
	length := minProseWords + random.below(maxProseWords-minProseWords+1)
	for written, open := 0, 0; written < length; {
		if open == 0 {
			b = append(b, "<p>"...)
		}
		sentence := p.sentences[random.below(len(p.sentences))]
		b = append(b, html.EscapeString(sentence)...)
		n := strings.Count(sentence, " ") + 1
		for range n / 2 {
			// The beginning of one word and the end of another resemble the language. Some words are far
			// more frequent than others.
			spread := 1 + random.below(len(p.words))
			first, second := []rune(p.words[random.below(spread)]), []rune(p.words[random.below(len(p.words))])
			b = append(b, ' ')
			b = append(b, string(first[:len(first)/2+1])...)
			b = append(b, string(second[len(second)/2:])...)
		}
		n += n / 2
		written, open = written+n, open+n
		b = append(b, ". "...)
		if open >= proseParagraph || written >= length {
			b, open = append(b, "</p>\n"...), 0
		}
	}
	return b
}

// proseTexts have one sentence per line.
var proseTexts = [...]struct{ tag, text string }{
	{"en", strings.Join(paragraphs[:], "\n")},
	{"de", `Der Hafen wacht lange vor der Stadt auf, und die ersten Boote sind schon draußen, wenn der Bäcker seine Läden öffnet
Sie bewahrte die Briefe in einer Blechdose unter der Treppe auf und las jeden Winter einen davon, wenn der Schnee die Straße versperrte
Ein guter Weg folgt dem Wasser, und niemand, der dort geht, musste jemals einen Fremden nach der Richtung fragen
Im Frühling ist der Garten voller Bienen, und der alte Gärtner sitzt auf der Mauer und tut so, als würde er sie zählen
Sie bauten die Bibliothek aus dem, was von der Mühle übrig war, und das große Rad dreht sich noch immer hinter einer Glasscheibe
Nichts wurde in der Werkstatt weggeworfen, denn Federn und Schrauben warteten in beschrifteten Gläsern auf jemanden, der sie brauchte
Der Nachtzug hält hier nur eine Minute, deshalb stehen die Reisenden mit zugeknöpften Mänteln an der Tür
An Markttagen riecht der Platz nach Orangen und nasser Wolle, und die Uhr über dem Rathaus geht fast immer richtig`},
	{"fr", `Le port se réveille bien avant la ville, et les premiers bateaux sont déjà dehors quand le boulanger ouvre ses volets
Elle gardait les lettres dans une boîte en fer sous l'escalier et en lisait une chaque hiver quand la neige fermait la route
Un bon chemin suit l'eau, et personne parmi ceux qui marchent là n'a jamais dû demander la direction à un étranger
Au printemps le verger se remplit d'abeilles, et le vieux jardinier s'assied sur le mur et fait semblant de les compter
Ils ont construit la bibliothèque avec ce qui restait du moulin, et la grande roue tourne encore derrière une vitre
Rien ne se jetait dans l'atelier, car les ressorts et les vis attendaient dans des bocaux celui qui en aurait besoin
Le train de nuit ne s'arrête ici qu'une minute, alors les voyageurs se tiennent près de la porte avec leurs manteaux boutonnés
Les jours de marché la place sent les oranges et la laine mouillée, et l'horloge de la mairie a presque toujours raison`},
	{"es", `El puerto despierta mucho antes que la ciudad, y los primeros barcos ya están fuera cuando el panadero abre sus ventanas
Ella guardaba las cartas en una caja de lata debajo de la escalera y leía una cada invierno cuando la nieve cerraba el camino
Un buen sendero sigue el agua, y nadie que camina por allí ha tenido que preguntar nunca a un extraño por la dirección
En primavera el huerto se llena de abejas, y el viejo jardinero se sienta en el muro y finge que las está contando
Construyeron la biblioteca con lo que quedaba del molino, y la gran rueda todavía gira detrás de un cristal
Nada se tiraba en el taller, porque los muelles y los tornillos esperaban en frascos a quien los necesitara
El tren nocturno se detiene aquí solo un minuto, así que los viajeros esperan junto a la puerta con los abrigos abrochados
Los días de mercado la plaza huele a naranjas y lana mojada, y el reloj del ayuntamiento casi siempre tiene razón`},
	{"it", `Il porto si sveglia molto prima della città, e le prime barche sono già fuori quando il fornaio apre le sue imposte
Lei conservava le lettere in una scatola di latta sotto la scala e ne leggeva una ogni inverno quando la neve chiudeva la strada
Un buon sentiero segue l'acqua, e nessuno che cammina di là ha mai dovuto chiedere la direzione a uno sconosciuto
In primavera il frutteto si riempie di api, e il vecchio giardiniere siede sul muro e finge di contarle tutte
Hanno costruito la biblioteca con quello che restava del mulino, e la grande ruota gira ancora dietro una lastra di vetro
Niente si buttava nella bottega, perché le molle e le viti aspettavano nei barattoli qualcuno che ne avesse bisogno
Il treno di notte si ferma qui solo un minuto, quindi i passeggeri stanno vicino alla porta con i cappotti abbottonati
Nei giorni di mercato la piazza profuma di arance e lana bagnata, e l'orologio del municipio ha quasi sempre ragione`},
	{"nl", `De haven wordt lang voor de stad wakker, en de eerste boten zijn al buiten als de bakker zijn luiken opent
Zij bewaarde de brieven in een blikken doos onder de trap en las er elke winter een wanneer de sneeuw de weg had afgesloten
Een goed pad volgt het water, en niemand die daar loopt heeft ooit aan een vreemde de weg moeten vragen
In het voorjaar zit de boomgaard vol bijen, en de oude tuinman zit op de muur en doet alsof hij ze allemaal telt
Ze bouwden de bibliotheek van wat er van de molen over was, en het grote rad draait nog steeds achter een glazen plaat
Niets werd in de werkplaats weggegooid, want veren en schroeven wachtten in potten tot iemand ze nodig had
De nachttrein stopt hier maar een minuut, dus de reizigers staan bij de deur met hun jassen dicht
Op marktdagen ruikt het plein naar sinaasappels en natte wol, en de klok boven het stadhuis heeft bijna altijd gelijk`},
	{"pl", `Port budzi się na długo przed miastem, a pierwsze łodzie są już na wodzie, kiedy piekarz otwiera okiennice
Trzymała listy w blaszanym pudełku pod schodami i czytała jeden każdej zimy, kiedy śnieg zamykał drogę do doliny
Dobra ścieżka idzie za wodą, i nikt, kto tamtędy chodzi, nigdy nie musiał pytać obcego o drogę do domu
Wiosną sad jest pełen pszczół, a stary ogrodnik siedzi na murze i udaje, że liczy każdą z nich
Zbudowali bibliotekę z tego, co zostało z młyna, a wielkie koło wciąż obraca się za taflą szkła
Niczego w warsztacie nie wyrzucano, bo sprężyny i śruby czekały w słoikach na kogoś, kto ich potrzebuje
Nocny pociąg zatrzymuje się tutaj tylko na minutę, więc podróżni stoją przy drzwiach w zapiętych płaszczach
W dni targowe plac pachnie pomarańczami i mokrą wełną, a zegar nad ratuszem prawie zawsze ma rację`},
	{"ru", `Порт просыпается задолго до города, и первые лодки уже вышли в море, когда пекарь открывает свои ставни
Она хранила письма в жестяной коробке под лестницей и читала по одному каждую зиму, когда снег закрывал дорогу в долину
Хорошая тропа идёт за водой, и никому из тех, кто там ходит, не приходилось спрашивать дорогу у чужого человека
Весной сад полон пчёл, а старый садовник сидит на стене и делает вид, что считает каждую из них
Они построили библиотеку из того, что осталось от мельницы, и большое колесо всё ещё вращается за стеклом
В мастерской ничего не выбрасывали, потому что пружины и винты ждали в банках того, кому они понадобятся
Ночной поезд стоит здесь только одну минуту, поэтому пассажиры ждут у двери в застёгнутых пальто
В базарные дни площадь пахнет апельсинами и мокрой шерстью, а часы над ратушей почти всегда идут верно`},
}
