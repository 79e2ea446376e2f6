import { ParleyError } from '@parley/client';
import { MESSAGE_LIMITS } from '@parley/protocol/resources/message-limits.ts';
import type { UploadListTexts } from '@parley/ui/files/upload-list.tsx';
import type { UploadRules } from '@parley/ui/files/uploads.ts';

/** The files that the team may attach. */
export const UPLOAD_RULES: UploadRules = {
  most: MESSAGE_LIMITS.attachments,
  refusalOf: ({ size }) => (size === 0 ? 'The file is empty.' : undefined),
  // The server says only what is wrong with the field; people need to know which field it is.
  problemOf(error) {
    const isSize = error instanceof ParleyError && error.param === 'size_bytes';
    return `${isSize ? 'The size of the file: ' : ''}${(error as Error).message}`;
  },
};

export const UPLOAD_TEXTS: UploadListTexts = {
  list: 'Files to send',
  uploading: (name) => `Uploading ${name}`,
  again: (name) => `Upload ${name} again`,
  remove: (name) => `Remove ${name}`,
};
