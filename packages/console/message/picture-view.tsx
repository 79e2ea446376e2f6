import { Dialog } from '@parley/ui/overlays/dialog.tsx';
import { shownName } from '@parley/ui/text/shown-name.ts';

export interface PictureViewProps {
  readonly attachment: { readonly filename: string | null; readonly url: string | null };
  readonly onClose: () => void;
}

/** A picture as large as the page. */
export function PictureView({ attachment: { filename, url }, onClose }: PictureViewProps) {
  const name = shownName(filename ?? 'Picture');
  return (
    <Dialog title={name} class="picture-view" onClose={onClose}>
      <img src={url ?? ''} alt={name} />
      <p>
        <a href={url ?? ''} target="_blank" rel="noopener nofollow ugc" download={name}>
          Open the file
        </a>
      </p>
    </Dialog>
  );
}
