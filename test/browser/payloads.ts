/** Payloads as text, where every byte counts, and as SQL over `n`, the number of the job. */

/**
 * A payload that a parser would change: a number beyond 2⁵³, one beyond all numbers, a repeated key, NUL, and HTML that
 * is text.
 */
export const EXACT_PAYLOAD = [
  '{',
  '  "transaction": 9007199254740993,',
  '  "ratio": 1e400,',
  '  "amount": 129.00,',
  '  "note": "first",',
  '  "note": "second",',
  '  "separator": "a\\u0000b",',
  '  "comment": "<script>document.title = \'run\'</script><img src=x onerror=alert(1)>"',
  '}',
].join('\n');
export const HTML_ANSWER = '<script>document.title = "run"</script><h1>502 Bad Gateway</h1>';

export const ORDER_PAYLOAD =
  '{"event":"order.paid","order":"ord_88213","customer":{"id":42,"email":"sam@example.com","plan":"team"},' +
  '"amount":129.00,"currency":"EUR","transaction":9007199254740993,"items":[{"sku":"FERRY-MUG-02","qty":2,"price":14.50},' +
  '{"sku":"CHART-A1","qty":1,"price":100.00}],"paidAt":"2026-11-12T12:03:36Z","test":false,"note":null}';

const customer = (n = 'n') =>
  `'{"id":' || (1 + ${n} * 7 % 97) || ',"email":"user' || (${n} % 997) || '@example.com","plan":"' ||
   (array['free','team','business'])[1 + ${n} % 3] || '"}'`;

export const SQL_PAYLOADS = {
  order: `'{"event":"order.paid","order":"ord_' || (60000 + n) || '","customer":' || ${customer()} ||
    ',"amount":' || (5 + n * 37 % 400) || '.' || (10 + n % 90) || ',"currency":"EUR","items":[{"sku":"' ||
    (array['FERRY-MUG-02','CHART-A1','ROPE-12'])[1 + n % 3] || '","qty":' || (1 + n % 3) || '}]}'`,
  contact: `'{"op":"upsert","contact":"con_' || (4000 + n) || '","customer":' || ${customer()} || '}'`,
  document: `'{"op":"upsert","doc":"prod_' || (7000 + n % 900) || '","locale":"' || (array['en','de','fr'])[1 + n % 3] || '"}'`,
  email: `'{"template":"' || (array['receipt','welcome','reset'])[1 + n % 3] || '","to":"user' || (n % 997) ||
    '@example.com","customer":' || ${customer()} || '}'`,
  text: `'{"text":"txt_' || n || '","model":"small","customer":' || ${customer()} || '}'`,
  image: `'{"image":"img_' || (900 + n) || '.jpg","sizes":[320,1280]}'`,
  event: `'{"event":"login","user":' || (n % 400) || ',"at":"' || jobferry_iso(at) || '"}'`,
} as const;
