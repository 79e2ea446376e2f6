import { Link } from '../nav/link.tsx';
import { usePlace } from '../nav/place.ts';
import { texts } from '../texts/texts.ts';

export interface RunLinkProps {
  readonly id: string;
  readonly text?: string;
}

/** A link to the pane of a run, beside the present page. */
export function RunLink({ id, text = texts.runs.show }: RunLinkProps) {
  const { main } = usePlace();
  return (
    <Link class="run-link" to={{ main, pane: { shows: 'run', id } }}>
      {text}
    </Link>
  );
}
