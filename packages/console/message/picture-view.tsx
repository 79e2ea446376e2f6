import type { Attachment } from '@parley/protocol/resources/attachment.ts';
import { Dialog } from '@parley/ui/overlays/dialog.tsx';
import { shownName } from '@parley/ui/text/shown-name.ts';
import { texts } from '../texts/texts.ts';

export interface PictureViewProps {
  readonly attachment: Pick<Attachment, 'filename' | 'url' | 'picture_metadata'>;
  readonly onClose: () => void;
}

/** A picture as large as the page. */
export function PictureView({ attachment, onClose }: PictureViewProps) {
  const { filename, url, picture_metadata: metadata } = attachment;
  const name = shownName(filename ?? texts.message.picture);
  return (
    <Dialog title={name} class="picture-view" onClose={onClose}>
      <img src={url ?? ''} alt={name} />
      {metadata === 'kept' && <p>{texts.message.pictureData}</p>}
      <p>
        <a href={url ?? ''} target="_blank" rel="noopener nofollow ugc" download={name}>
          {texts.message.openFile}
        </a>
      </p>
    </Dialog>
  );
}
