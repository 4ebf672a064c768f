// @ts-check
/** Receives the jobs of both queues, each at a path of its own. */
import { createServer } from 'node:http';
import { expressHandler } from '@jobferry/client/webhook';
import { importFile } from './import-file.mjs';
import { importRow } from './import-row.mjs';

const { JOBFERRY_URL: baseUrl, JOBFERRY_API_KEY: apiKey, PORT = '9104' } = process.env;
const { JOBFERRY_SECRET_IMPORTS = '', JOBFERRY_SECRET_IMPORT_ROWS = '' } = process.env;

const handleFile = expressHandler(
  { mode: 'ack', secret: JOBFERRY_SECRET_IMPORTS, baseUrl, apiKey, heartbeat: true },
  importFile,
);
const handleRow = expressHandler({ secret: JOBFERRY_SECRET_IMPORT_ROWS }, importRow);

const server = createServer((request, response) => {
  if (request.url === '/imports') void handleFile(request, response);
  else if (request.url === '/import-rows') void handleRow(request, response);
  else response.writeHead(404).end();
});
server.listen(Number(PORT), '127.0.0.1', () => console.log(`listening on http://127.0.0.1:${PORT}/`));
