import {
  ATTACHABLE_HOURS,
  FILE_URL_S,
  UPLOAD_LIMITS,
} from '../../../../contract/protocol/resources/upload.ts';
import { html } from '../html.ts';
import { example, type Guide } from './guide.ts';

const MIB = 1024 * 1024;

export const FILES: Guide = {
  slug: 'files',
  title: 'Files',
  summary: 'Uploading with progress, sending, showing and downloading.',
  main: html`<p>A file goes up first, and a message names it then. Bytes never pass through the API: they go to a signed URL, of object storage or of the server
itself. A file may have ${UPLOAD_LIMITS.s3Bytes / MIB} MiB, or ${UPLOAD_LIMITS.localBytes / MIB} MiB where the server keeps it on its own disk.</p>
<h2 id="sdk">With the SDK</h2>
${example(
  'js',
  `
import { connect } from 'https://chat.example.com/v1/client.js';

const getToken = async () => (await fetch('/chat-token', { method: 'POST' })).text();
const client = connect({ url: 'https://chat.example.com', account: 'acc_…', getToken });
const conversation = client.conversation('cnv_…');
await conversation.opened;

const file = new File(['Bollard 7 is loose.'], 'report.txt', { type: 'text/plain' }); // or from an input
const attachment = await conversation.upload(file, {
  onProgress: ({ sentBytes, totalBytes }) => console.log(Math.round((100 * sentBytes) / totalBytes)),
});
const { id } = await conversation.send({ body: 'The report.', attachments: [attachment] });`,
)}
<p>A try that fails is repeated with a new URL. <code>signal</code> aborts the upload, for a button that cancels it.</p>
<h2 id="show">Showing files</h2>
<p>Messages of events and of the view have their <code>attachments</code>. Their URLs work for ${FILE_URL_S / 60} minutes: read the message again for a new one
when a person opens a file later. A file that is not an image is always downloaded, never shown in the page of the server.</p>
${example(
  'js',
  `
const { attachments } = await client.fetch(\`/v1/messaging/messages/\${id}?include[]=attachments\`);
const [{ filename, size_bytes, url }] = attachments;
console.log(filename, size_bytes, await (await fetch(url)).text());
client.close();`,
)}
<h2 id="rest">Without it</h2>
<p>Three requests: for the URL, for the bytes, with exactly the headers of the answer, and for the message. An upload that no message names
within ${ATTACHABLE_HOURS} hours is removed.</p>
${example(
  'sh',
  `
call() {
  curl -sS --fail-with-body -X "$1" "$PARLEY_URL$2" \\
    -H "Authorization: Bearer $PARLEY_KEY" -H "Service-Account: $PARLEY_ACCOUNT" \\
    -H 'Service-Version: 1.1.harbor' -H 'Content-Type: application/json' "\${@:3}"
}
printf 'Bollard 7 is loose.' > report.txt
upload=$(call POST /v1/messaging/attachments/upload-url \\
  -d '{"filename":"report.txt","content_type":"text/plain","size_bytes":19}')
url=$(printf '%s' "$upload" | sed 's/.*"url":"\\([^"]*\\)".*/\\1/')
key=$(printf '%s' "$upload" | sed 's/.*"s3_key":"\\([^"]*\\)".*/\\1/')
curl -sS --fail-with-body -X PUT "$url" -H 'Content-Type: text/plain' --data-binary @report.txt
call POST /v1/messaging/conversations/$PARLEY_CONVERSATION/messages \\
  -d '{"client_message_id":"report-1","attachments":[{"kind":"file","s3_key":"'$key'"}]}'`,
)}
<p>Links and references to other resources are attachments too, without an upload: <code>{"kind":"link","url":"https://…"}</code>. A message that is
deleted takes its files with it.</p>`,
};
