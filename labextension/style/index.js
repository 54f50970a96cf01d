import './base.css';
import './marks.css';
import './programs.css';
import './graph.css';
import './panel.css';
import './runs.css';
import './tables.css';
import './provenance.css';
