/** An HTTP status, or a report after the status 202: the queue is in ack mode. */
export type Answer = number | 'ack' | 'nack';

interface Payload {
  /** Source text: large numbers, escapes, key order and white space, which must all arrive as they are. */
  readonly source: string;
  /** The webhook's answers to its deliveries in turn, those of its replay, too. The last one is repeated. */
  readonly answers: readonly Answer[];
}

export const PAYLOADS: Readonly<Record<string, Payload>> = {
  'chat.message': {
    answers: ['ack'],
    source: String.raw`{"event":"chat.message","room":"日本語","author":{"handle":"ada","displayName":"Ada 🚢"},"text":"Ship it! 🎉 \ud83d\udea2 \u05e9\u05dc\u05d5\u05dd שלום","mentions":[],"reactions":{"👍":3,"\u2764\ufe0f":1},"thread":null,"edited":false}`,
  },
  'video.encoded': {
    answers: [500, 'ack'],
    source: `{"event":"video.encoded","videoId":9007199254740993,"bytes":18446744073709551615,"durationSeconds":5423.040,"renditions":[{"height":2160,"bitrate":1.6e7,"codec":"av1"},{"height":1080,"bitrate":4.5E6,"codec":"h264"},{"height":480,"bitrate":900000,"codec":"h264"}],"checksums":{"sha256":"0f9a6b1e5d7c48b2a3e4f5061728394a5b6c7d8e9f00112233445566778899aa","crc32":3735928559}}`,
  },
  'invoice.paid': {
    answers: [429, 'ack'],
    source: `{
	"event"  : "invoice.paid",
	"invoice": { "id": "in_5Z", "amount" : 1e3, "tax":190.00 , "lines":[ ] },

	"__proto__": { "polluted": false },
	"paid"	: true
}`,
  },
  'sensor.reading': {
    answers: ['nack', 'ack'],
    source: `{"event":"sensor.reading","station":"DE-0042","readings":{"temperature":-0.0,"pressure":1013.250,"humidity":0.5710,"particles":1.20e-7,"radiation":6.02214076E23},"calibration":[1,1.0,1.00,1e0],"location":{"latitude":52.520006599999997,"longitude":13.404953999999999},"10":"keys keep their order","9":"as they were published"}`,
  },
  'mail.bounced': {
    answers: [500, 500, 'ack'],
    source: String.raw`{"event":"mail.bounced","recipient":"\u00e9lodie@example.org","subject":"Re: \"Invoice\" \u2014 50\u00a0% off \/ last chance","diagnostic":"550 5.1.1 <\u00e9lodie@example.org>: user unknown\r\n\tsmtp; host mx.example.org [192.0.2.10]","html":"<p class=\"lead\">Hi &amp; welcome<\/p>","attempts":3,"headers":{"X-Spam-Score":"-0.1","Message-ID":"<20261122.1@mail.example.org>"}}`,
  },
};
