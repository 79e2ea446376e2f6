import { ParleyError } from '@parley/client';
import type { UploadRules } from '@parley/client/writing/uploads.ts';
import { MESSAGE_LIMITS } from '@parley/protocol/resources/message-limits.ts';
import { texts } from '../texts/texts.ts';

/** The files that the team may attach. */
export const UPLOAD_RULES: UploadRules = {
  most: MESSAGE_LIMITS.attachments,
  refusalOf: ({ size }) => (size === 0 ? texts.composer.fileEmpty : undefined),
  // The server says only what is wrong with the field; people need to know which field it is.
  problemOf(error) {
    const isSize = error instanceof ParleyError && error.param === 'size_bytes';
    const { message } = error as Error;
    return isSize ? texts.composer.fileSize(message) : message;
  },
};
