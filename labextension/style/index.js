import './base.css';
import './marks.css';
