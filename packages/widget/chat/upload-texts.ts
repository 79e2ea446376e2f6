import type { UploadRules } from '@parley/client/writing/uploads.ts';
import { CUSTOMER_UPLOADS } from '@parley/protocol/resources/customer-uploads.ts';
import type { UploadListTexts } from '@parley/ui/files/upload-list.tsx';
import type { WidgetTexts } from '../texts/widget-texts.ts';

/** Returns the files that a visitor may attach, and the texts about others. */
export function uploadRules(texts: WidgetTexts): UploadRules {
  return {
    most: CUSTOMER_UPLOADS.open,
    refusalOf({ size }) {
      if (size === 0) return texts.fileEmpty;
      return size > CUSTOMER_UPLOADS.bytes ? texts.fileTooLarge : undefined;
    },
    problemOf(error) {
      const { code, status } = error as { readonly code?: string; readonly status?: number | null };
      if (code === 'limit_exceeded' || status === 429) return texts.fileLimit;
      return status === 403 || status === 422 ? texts.fileRefused : texts.fileFailed;
    },
  };
}

export function uploadListTexts(texts: WidgetTexts): UploadListTexts {
  return {
    list: texts.filesToSend,
    uploading: texts.uploading,
    again: texts.uploadAgain,
    remove: texts.removeFile,
  };
}
