import type { Downloads } from '../../src/core/resources/attachment.ts';

/** Downloads for code that delivers messages without files. */
export const NO_FILES: Downloads = {
  presignDownload: ({ key }) =>
    Promise.reject(new Error(`no message here has a file, yet ${key} is asked for`)),
};
