import { typeOf } from '../container/container.ts';
import { fileName } from '../content/file-name.ts';
import { contentType, fields, flag, idOf, list, text, whole } from '../content/values.ts';
import type { Walk } from '../content/walk.ts';
import type { ArchivedFile } from '../record.ts';
import { markdownLink } from './mrkdwn.ts';

/** The files of a message, and lines for its text with files that are elsewhere. */
export interface SlackFiles {
  readonly files: readonly ArchivedFile[];
  readonly links: readonly string[];
}

const NO_FILES: SlackFiles = { files: [], links: [] };

/** Returns the fetchable files; skips other files, with the reason. */
export function filesOf(
  values: readonly unknown[],
  uploads: ReadonlyMap<string, string>,
  walk: Walk,
  where: string,
): SlackFiles {
  if (values.length === 0) return NO_FILES;
  const files: ArchivedFile[] = [];
  const links: string[] = [];
  const ids = new Set<string>();
  for (const value of values) {
    walk.meet('files');
    const file = fields(value);
    const id = idOf(file.id) ?? `file-${ids.size + 1}`;
    const name = fileName(text(file.name) ?? text(file.title), id);
    const skip = (reason: string, detail: string) => walk.skip('files', reason, detail, where);
    const url = urlOf(file.url_private_download) ?? urlOf(file.url_private);
    const entry = uploads.get(id);
    if (ids.has(id)) skip('duplicate', `The message has the file ${id} twice.`);
    else if (entry === undefined && file.mode === 'tombstone')
      skip('deleted', `${name} was deleted in Slack.`);
    else if (entry === undefined && file.mode === 'hidden_by_limit') {
      skip('hidden_by_limit', `The plan of the workspace hides ${name}.`);
    } else if (flag(file.is_external) || file.mode === 'external') {
      skip('external', `${name} is elsewhere; the text has a link to it.`);
      if (url !== null) links.push(markdownLink(url, name));
    } else if (entry === undefined && url === null) skip('no_url', `${name} has no URL.`);
    else {
      ids.add(id);
      files.push({
        id,
        name,
        content_type: contentType(file.mimetype) ?? typeOf(name),
        size: whole(file.size),
        source: entry !== undefined ? { entry } : { url: url! },
      });
    }
  }
  return { files, links };
}

/** Returns both fields with the files of a message. */
export function fileValues(message: {
  readonly files?: unknown;
  readonly file?: unknown;
}): readonly unknown[] {
  const files = list(message.files).filter((it) => it !== null);
  return files.length === 0 && typeof message.file === 'object' && message.file !== null
    ? [message.file]
    : files;
}

function urlOf(value: unknown): string | null {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : null;
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : null;
}
